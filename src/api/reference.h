/* SPDX-License-Identifier: Apache-2.0
 *
 * The reference table: what a smelt_tensor pointer stands for.
 *
 * A token is (slot << 32 | generation). The table is process-wide, grows in
 * chunks and never shrinks, so that any 64-bit value can be looked at safely,
 * also a token of a destroyed context. An odd generation means the slot is in
 * use; taking a token is one compare-and-swap that makes it even, so of two
 * threads that take one token exactly one succeeds. Nothing here takes a lock. Free
 * slots wait before they are used again (api/reference_slots.h); while a slot waits
 * it remembers who took its token.
 *
 * Slot 0 is the immortal poison, returned when not even a slot can be had.
 *
 * This is one of the few process-global objects: the table, its lock, and the
 * list of living contexts (see api/context_state.h). */
#ifndef SM_API_REFERENCE_H
#define SM_API_REFERENCE_H

#include "api/reference_slots.h"
#include "smelt/tensor.h"

/* A new token for `target`, which it takes over. Never fails: without memory it
 * gives the target up and returns the immortal poison. */
smelt_tensor *sm_reference_create(sm_target target);
smelt_tensor *sm_reference_poison(sm_cause *cause);

/* Takes a token on behalf of `taker` (static text, "exp" for smelt_exp). A stale or
 * invalid token gives a POISON target whose cause says who took it before; the
 * misuse is counted and logged for its context. */
sm_target sm_reference_take(smelt_tensor *token, const char *taker);
/* Gives up what sm_reference_take returned. */
void sm_target_release(sm_target target);

/* Looks without taking on behalf of `user`; nothing is handed over. A stale
 * token gives ERR_STALE, counted and logged like a stale take. */
smelt_status sm_reference_peek(const smelt_tensor *token, const char *user, sm_target *out, smelt_error *err);

/* The context that the tensor belongs to; NULL if the token is not valid, which is not
 * reported, or stands for something else. */
const void *sm_reference_owner(const smelt_tensor *token);

/* Makes every token of tensors that belong to the context (stream->set->owner) stale.
 * Called when it is destroyed. */
void sm_reference_forget(const smelt_context *ctx, const char *taker);

#endif
