/* SPDX-License-Identifier: Apache-2.0
 *
 * Every number with a history, named and explained once. */
#ifndef SM_CORE_LIMITS_H
#define SM_CORE_LIMITS_H

enum {
  /* Recorded operations per segment; a segment that reaches it ends itself, so
   * that a loop that never reads does not grow without bound. */
  SM_MAX_SEGMENT_OPS = 512,
  /* Recorded operations per kernel. Memory-bound chains gain nothing beyond
   * some dozens; 256 keeps compile time in bounds. 65 reproduces the split of
   * a chain of 100 into 65 + 35 that burn 0.22 shows. */
  SM_MAX_KERNEL_OPS = 256,
  /* Free reference slots that wait before the oldest is used again: as long as
   * a slot waits, a stale token's message names the operation that took it. */
  SM_STALE_QUEUE = 1024,
};

/* The largest tensor, in bytes: extents and offsets always fit int64_t with
 * room for one more stride. */
#define SM_MAX_TENSOR_BYTES ((int64_t)1 << 56)

#endif
