/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "rt/object_loader.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_limit.h"
#include "rt/object_image.h"

/* Newer than some headers. */
enum { MEMORY_FILE_NO_EXECVE = 8 /* MFD_NOEXEC_SEAL */ };

#define REFUSED(o) \
  sm_error_set((o)->err, SMELT_ERR_UNSUPPORTED, "object code: memory cannot be made executable")

static int create_memory_file(size_t size) {
  int fd = memfd_create("smelt-code", MFD_CLOEXEC | MEMORY_FILE_NO_EXECVE);
  if (fd < 0) fd = memfd_create("smelt-code", MFD_CLOEXEC); /* before Linux 6.3 */
  if (fd < 0 || (sm_file_size_allowed(size) && ftruncate(fd, (off_t)size) == 0)) return fd;
  (void)close(fd);
  return -1;
}

/* Maps the file, then fills it with code for the address it got. `image` is the
 * writable copy. */
static smelt_status map_filled(const sm_object_image *o, int fd, unsigned char *image, size_t size,
                               void **base) {
  *base = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
  if (*base == MAP_FAILED) return REFUSED(o);
  smelt_status status = sm_object_image_fill(o, image, (uintptr_t)*base);
  if (status == SMELT_OK && pwrite(fd, image, size, 0) != (ssize_t)size) {
    status = REFUSED(o);
  }
  if (status != SMELT_OK) (void)munmap(*base, size);
  return status;
}

static smelt_status map_memory_file(const sm_object_image *o, unsigned char *image, size_t size,
                                    void **base) {
  int fd = create_memory_file(size);
  if (fd < 0) return REFUSED(o);
  smelt_status status = map_filled(o, fd, image, size, base);
  (void)close(fd);
  return status;
}

/* Maps the code executable, of `size` bytes. */
static smelt_status map_image(const sm_object_image *o, size_t size, void **base) {
  void *image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (image == MAP_FAILED) return sm_error_memory(o->err, "a kernel's code");
  *base = image;
  smelt_status status = sm_object_image_fill(o, image, (uintptr_t)image);
  if (status == SMELT_OK && mprotect(image, size, PROT_READ | PROT_EXEC) == 0) return SMELT_OK;
  if (status == SMELT_OK) status = map_memory_file(o, image, size, base);
  (void)munmap(image, size);
  return status;
}

static size_t round_to_pages(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

smelt_status sm_code_load(const void *data, size_t size, const char *entry, sm_code *out, smelt_error *err) {
  sm_object_image image;
  void *base;
  *out = (sm_code){.base = NULL};
  SM_TRY(sm_object_image_read(&image, data, size, SM_HOST_MACHINE, entry, err));
  size_t mapped = round_to_pages(image.image_bytes);
  SM_TRY(map_image(&image, mapped, &base));
  /* Data that was written becomes instructions only by this on some processors. */
  __builtin___clear_cache(base, (char *)base + mapped);
  *out = (sm_code){.base = base, .size = mapped, .entry = (sm_kernel_fn *)((uintptr_t)base + image.entry)};
  return SMELT_OK;
}

void sm_code_free(sm_code *code) {
  if (code->base) (void)munmap(code->base, code->size);
  *code = (sm_code){.base = NULL};
}
