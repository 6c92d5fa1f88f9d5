/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiled kernels of one device, by identity.
 *
 * Identity is the 128-bit hash of the kernel IR without its name. The table
 * owns the kernels; entries stay where they are. Any thread may ask for a kernel: the
 * first one makes it, without the lock, and those that ask meanwhile wait for that. If it
 * fails nothing is left, and the next of them tries. */
#ifndef SM_LAUNCH_KERNEL_TABLE_H
#define SM_LAUNCH_KERNEL_TABLE_H

#include "base/counters.h"
#include "rt/device.h"

typedef struct sm_kernel_entry {
  sm_hash hash;
  char name[SM_KIR_NAME];
  sm_kernel *kernel; /* NULL: the driver has no code for it */
  bool interpreted;
  /* Guarded by the table's lock: */
  struct sm_kernel_entry *next;
  bool making;      /* by a thread */
  uint32_t process; /* of that thread (sm_thread_process) */
} sm_kernel_entry;

typedef struct sm_kernel_table {
  sm_device *device;
  const sm_log *log;
  sm_counters *counters;
  sm_mutex lock; /* guards: */
  sm_kernel_entry *first;
  sm_event made; /* one of them, or it failed */
} sm_kernel_table;

/* False if the lock cannot be made. */
bool sm_kernel_table_init(sm_kernel_table *table, sm_device *device, const sm_log *log,
                          sm_counters *counters);
void sm_kernel_table_free(sm_kernel_table *table);

/* The kernel with this IR, made if it is new: compiled, or for the interpreter
 * if `interpreted`. It is verified then, not at every launch. `prefix` and eight digits of the hash name it.
 * Takes `ir` over, also on failure. ERR_MEMORY, ERR_COMPILE, which
 * leave no entry; ERR_UNSUPPORTED, which is remembered. */
smelt_status sm_kernel_table_get(sm_kernel_table *table, sm_kir_kernel *ir, const char *prefix,
                                 bool interpreted, const sm_kernel_entry **out, smelt_error *err);

#endif
