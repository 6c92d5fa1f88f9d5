/* SPDX-License-Identifier: Apache-2.0
 *
 * From a relocatable ELF64 object to the bytes that stand in memory when it runs.
 *
 * Purpose. A pure function, for x86-64 and AArch64 on any machine: nothing is
 * mapped, nothing becomes executable (object_loader.h does that).
 *
 * Vocabulary. The *image* holds all *placed* sections, text and read-only data
 * together. Sections that are not part of the program (symbols, notes, debug
 * information, on x86-64 unwind information) are not placed, and what would be
 * relocated in them is ignored.
 *
 * Rules.
 *  - An object is bytes from outside: every offset, count, size, alignment and
 *    string index is checked before use, and nothing is written outside of the
 *    image, whatever the object says. What is sound may still be wrong code;
 *    whether to trust an object is decided before (rt/code_cache.h).
 *  - Nothing writable, nothing thread-local, no undefined symbol anywhere.
 *  - Relocations (relocation.c lists the types) refer to placed sections only. */
#ifndef SM_RT_OBJECT_IMAGE_H
#define SM_RT_OBJECT_IMAGE_H

#include <elf.h>

#include "base/error.h"

/* The machine that we run on, if code for it can be loaded. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#define SM_HOST_MACHINE EM_NONE
#elif defined(__x86_64__)
#define SM_HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define SM_HOST_MACHINE EM_AARCH64
#else
#define SM_HOST_MACHINE EM_NONE
#endif

enum {
  SM_CODE_MAX_SECTIONS = 64,
  SM_CODE_MAX_BYTES = 1 << 26, /* of an image */
};

typedef struct sm_object_image {
  const unsigned char *data; /* the object, not ours */
  size_t size;
  uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
  Elf64_Shdr sections[SM_CODE_MAX_SECTIONS];
  uint64_t place[SM_CODE_MAX_SECTIONS]; /* where in the image; UINT64_MAX: not placed */
  size_t n_sections;
  size_t image_bytes;
  uint64_t entry; /* where in the image it is */
  size_t symbols; /* index of the symbol table's section; 0: none */
  const char *names;
  size_t names_size;
  smelt_error *err;
} sm_object_image;

/* Checks an object for `machine` up to its relocations and finds the global
 * function `entry`. ERR_FORMAT if it is malformed, ERR_UNSUPPORTED if it needs what
 * is not offered. `data` and `err` are used by what follows. */
smelt_status sm_object_image_read(sm_object_image *out, const void *data, size_t size, uint16_t machine,
                                  const char *entry, smelt_error *err);
/* Writes to `image`, which has image_bytes zeros, what shall stand at `address`, a
 * multiple of 4096. Errors as above. */
smelt_status sm_object_image_fill(const sm_object_image *o, unsigned char *image, uint64_t address);

#endif
