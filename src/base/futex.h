/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeping until a word changes, within one process. Include after defining
 * _GNU_SOURCE. */
#ifndef SM_BASE_FUTEX_H
#define SM_BASE_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sleeps if *word is `value`, until it is woken; may also return for no reason. */
static inline void sm_futex_wait(_Atomic uint32_t *word, uint32_t value) {
  (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

/* Wakes at most n threads that sleep on the word. */
static inline void sm_futex_wake(_Atomic uint32_t *word, int n) {
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

#endif
