/* SPDX-License-Identifier: Apache-2.0
 *
 * A program as a user of an installed Smelt would write it. */
#include <smelt/io.h>
#include <smelt/smelt.h>

#include <stdio.h>
#include <string.h>

static int fail(const smelt_error *err) {
  (void)fprintf(stderr, "%s: %s\n", smelt_status_name(err->code), err->text);
  return 1;
}

/* Computes 2*a + 1, takes it through the file `path`, and prints it. */
static int run(smelt_context *ctx, const char *path, smelt_error *err) {
  smelt_tensor *a = smelt_from_host(ctx, SMELT_F32, 1, (int64_t[]){3}, (float[]){1, 2, 3});
  smelt_tensor *d = smelt_add(smelt_mul(a, 2.0), 1);
  smelt_tensor *loaded = NULL;
  smelt_status status = smelt_npy_save(d, path, err);
  if (!status) status = smelt_npy_load(ctx, path, &loaded, err);
  if (!status) status = smelt_print(loaded, err);
  smelt_drop(d);
  smelt_drop(loaded);
  return status ? fail(err) : 0;
}

int main(int argc, char **argv) {
  smelt_error err;
  if (argc != 2 || strcmp(smelt_version(), SMELT_VERSION) != 0) return 2;
  smelt_context *ctx = smelt_context_create(NULL, &err);
  if (!ctx) return fail(&err);
  int result = run(ctx, argv[1], &err);
  if (smelt_context_destroy(ctx, &err)) return fail(&err);
  return result;
}
