/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints size and alignment of each public struct, for check-abi.sh. */
#include <stdio.h>

#include "smelt/base.h"
#include "smelt/context.h"
#include "smelt/custom.h"
#include "smelt/observe.h"
#include "smelt/tensor.h"

#define PRINT(type) (void)printf("%s %zu %zu\n", #type, sizeof(type), _Alignof(type))

int main(void) {
  PRINT(smelt_apart_event);
  PRINT(smelt_array);
  PRINT(smelt_attrs);
  PRINT(smelt_block_event);
  PRINT(smelt_context_desc);
  PRINT(smelt_counters);
  PRINT(smelt_error);
  PRINT(smelt_explained_edge);
  PRINT(smelt_explained_kernel);
  PRINT(smelt_explained_operation);
  PRINT(smelt_kernel_event);
  PRINT(smelt_launch_event);
  PRINT(smelt_leak);
  PRINT(smelt_memory_event);
  PRINT(smelt_observer);
  PRINT(smelt_op_desc);
  PRINT(smelt_op_info);
  PRINT(smelt_operation_event);
  PRINT(smelt_poison_event);
  PRINT(smelt_range);
  return 0;
}
