/* SPDX-License-Identifier: Apache-2.0
 *
 * Copying past the caches: for results that are larger than the caches, whose old
 * contents need not be read to be overwritten. A fence makes copies visible to
 * other threads. Where there is no such thing it is an ordinary copy. */
#ifndef SM_BASE_STREAMING_H
#define SM_BASE_STREAMING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

enum { SM_STREAM_LINE = 64 };

/* Only whole lines of memory pass the caches. */
static inline void sm_copy_streaming(void *to, const void *from, size_t bytes) {
  if ((uintptr_t)to % SM_STREAM_LINE || bytes % SM_STREAM_LINE) {
    memcpy(to, from, bytes);
    return;
  }
  __m128i *out = (__m128i *)to;
  const __m128i *in = (const __m128i *)from;
  for (size_t i = 0; i < bytes / sizeof *out; i++) _mm_stream_si128(out + i, _mm_loadu_si128(in + i));
}

static inline void sm_fence_streaming(void) { _mm_sfence(); }

#else

static inline void sm_copy_streaming(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
static inline void sm_fence_streaming(void) {}

#endif

#endif
