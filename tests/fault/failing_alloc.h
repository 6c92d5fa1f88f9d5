/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that runs out on purpose.
 *
 * The library needs no hook for this: tests/CMakeLists.txt makes copies of the
 * static libraries in which calls of malloc and its like are calls of functions
 * here. What the tests themselves and libc
 * allocate never fails. A loop over n (fault_loop.h) lets every allocation of
 * a program fail once.
 *
 * SMELT_FAIL_ALLOC=n in the environment fails the n-th allocation of a process
 * of its own, for a debugger. */
#ifndef TESTS_FAULT_FAILING_ALLOC_H
#define TESTS_FAULT_FAILING_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

/* How memory runs out: one allocation fails, or all from that one on. */
typedef enum shortage { SHORT_ONCE, SHORT_FROM_THEN_ON } shortage;

/* The n-th allocation from now on fails. 0: none does. */
void fail_alloc_at(uint64_t n, shortage how);
/* How many there have been since then, and whether one has failed. */
uint64_t fail_alloc_count(void);
bool fail_alloc_happened(void);
/* Blocks that the library holds. */
int64_t fail_alloc_blocks(void);

#endif
