/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "rt/jit_dump.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/file_limit.h"
#include "base/os.h"
#include "rt/object_image.h"

typedef struct dump_header {
  uint32_t magic, version, size, machine, reserved, process;
  uint64_t time, flags;
} dump_header;

typedef struct load_record {
  uint32_t kind, size; /* of the record with name and code */
  uint64_t time;
  uint32_t process, thread;
  uint64_t address, code_address, code_size;
  uint64_t number; /* no other of the dump has it */
} load_record;

enum { MAGIC = 0x4a695444 /* "JiTD" */, VERSION = 1, CODE_IS_LOADED = 0 };

_Static_assert(sizeof(dump_header) == 40 && sizeof(load_record) == 56, "as specified");

/* The process whose marker is there: a child of fork needs its own. */
static _Atomic long marked;

/* All of it or nothing. */
static bool append(int fd, const struct iovec *parts, int n_parts) {
  struct stat st;
  uint64_t size = 0;
  for (int i = 0; i < n_parts; i++) size += parts[i].iov_len;
  if (fstat(fd, &st) != 0 || !sm_file_size_allowed((uint64_t)st.st_size + size)) return false;
  if (writev(fd, parts, n_parts) == (ssize_t)size) return true;
  int undone = ftruncate(fd, st.st_size);
  (void)undone;
  return false;
}

static bool put_marker(int fd) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED;
}

static bool begin_dump(int fd) {
  dump_header header = {.magic = MAGIC,
                        .version = VERSION,
                        .size = sizeof header,
                        .machine = SM_HOST_MACHINE,
                        .process = (uint32_t)getpid(),
                        .time = (uint64_t)sm_os_now()};
  const struct iovec part = {.iov_base = &header, .iov_len = sizeof header};
  if (ftruncate(fd, 0) != 0 || !append(fd, &part, 1) || !put_marker(fd)) return false;
  atomic_store(&marked, (long)getpid());
  return true;
}

static void add_record(int fd, const sm_code *code, const char *name) {
  struct stat st;
  if (fstat(fd, &st) != 0) return;
  size_t name_size = strlen(name) + 1;
  load_record record = {.kind = CODE_IS_LOADED,
                        .size = (uint32_t)(sizeof record + name_size + code->size),
                        .time = (uint64_t)sm_os_now(),
                        .process = (uint32_t)getpid(),
                        .thread = (uint32_t)sm_os_thread(),
                        .address = (uintptr_t)code->base,
                        .code_address = (uintptr_t)code->base,
                        .code_size = code->size,
                        .number = (uint64_t)st.st_size};
  const struct iovec parts[] = {{.iov_base = &record, .iov_len = sizeof record},
                                {.iov_base = (void *)(uintptr_t)name, .iov_len = name_size},
                                {.iov_base = code->base, .iov_len = code->size}};
  (void)append(fd, parts, 3);
}

void sm_jit_dump_write(int fd, const sm_code *code, const char *name) {
  if (atomic_load(&marked) == (long)getpid() || begin_dump(fd)) add_record(fd, code, name);
}
