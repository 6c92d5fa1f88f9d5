/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the stream module share: making and freeing tensors, and
 * ending a segment. The caller holds the stream's lock. */
#ifndef SM_STREAM_STREAM_TENSOR_H
#define SM_STREAM_STREAM_TENSOR_H

#include "stream/stream.h"

/* A tensor with one reference, linked into the stream; NULL without memory. */
sm_tensor *sm_tensor_create(sm_stream *s, sm_tensor_state state, smelt_dtype dtype, const sm_shape *shape,
                            const char *origin);
/* Unlinks it and frees its buffer and cause; its memory is kept for the next. */
void sm_tensor_free(sm_stream *s, sm_tensor *t);
void sm_tensor_free_spares(sm_stream *s);
/* Runs the current segment, settles its live results, frees its dead tensors
 * and starts the next one. */
void sm_segment_end(sm_stream *s);

#endif
