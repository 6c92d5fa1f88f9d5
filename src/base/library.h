/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared libraries that are opened at run time, because Smelt works without them.
 *
 * They are opened locally, so that another version in the process is not disturbed, and
 * never unmapped: they register destructors and keep threads' data. */
#ifndef SM_BASE_LIBRARY_H
#define SM_BASE_LIBRARY_H

#include <stdbool.h>

#include "base/error.h"

/* NULL if the file is not there or cannot be loaded. */
void *sm_library_open(const char *file);
void sm_library_close(void *handle);
/* Stores the address of a function in `slot`, a pointer to such a function: NULL and
 * false if the library has none of that name. */
bool sm_library_symbol(void *handle, const char *name, void *slot);
/* Answers `code` with "NAME not found, tried FILE, FILE". */
smelt_status sm_library_not_found(const char *name, const char *const *files, int n, smelt_status code,
                                  smelt_error *err);

#endif
