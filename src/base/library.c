/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void *sm_library_open(const char *file) { return dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE); }

void sm_library_close(void *handle) { (void)dlclose(handle); }

/* dlsym answers void *, which POSIX lets a function pointer be copied from. */
bool sm_library_symbol(void *handle, const char *name, void *slot) {
  void *symbol = dlsym(handle, name);
  memcpy(slot, &symbol, sizeof symbol);
  return symbol != NULL;
}

smelt_status sm_library_not_found(const char *name, const char *const *files, int n, smelt_status code,
                                  smelt_error *err) {
  char list[200];
  size_t used = 0;
  for (int i = 0; i < n && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", files[i]);
  return sm_error_set(err, code, "%s not found, tried %s", name, list);
}
