/* SPDX-License-Identifier: Apache-2.0
 *
 * Where tensors are made: if SMELT_DEBUG is defined before a file includes Smelt, each
 * call there that makes a tensor tells the library where it stands. Leaks and errors
 * (smelt_error.where) then say "main.c:12". The library is the same. */
#ifndef SMELT_PLACES_H
#define SMELT_PLACES_H

#include "smelt/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Passes `t` on, as made at `where`, which is static. */
SMELT_API SMELT_TAKES(1) SMELT_GIVES smelt_tensor *smelt__locate(smelt_tensor *t, const char *where);

#ifdef SMELT_DEBUG
#define smelt__digits(line) #line
#define smelt__digits_of(line) smelt__digits(line)
#define smelt__here(call) smelt__locate(call, __FILE__ ":" smelt__digits_of(__LINE__))
#define smelt_from_host(...) smelt__here(smelt_from_host(__VA_ARGS__))
#define smelt_wrap(...) smelt__here(smelt_wrap(__VA_ARGS__))
#define smelt_call(...) smelt__here(smelt_call(__VA_ARGS__))
#endif

#ifdef __cplusplus
}
#endif
#endif
