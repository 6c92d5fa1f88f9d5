/* SPDX-License-Identifier: Apache-2.0
 *
 * The disk cache: what was put comes back, everything damaged, foreign or not to
 * be trusted is ignored and replaced, nothing that fails is an error, several
 * processes can use it at once, its size is bounded. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "rt/cache_folder.h"
#include "rt/code_cache.h"

/* --- A cache of its own for every case ------------------------------------------------ */

enum { NOBODY = 65534 };

static char root[] = "/tmp/smelt-cache-XXXXXX";
static char folder[64];
static sm_code_cache cache;
static char log_lines[1024];
static int log_count;

static void remember_line(void *user, const char *line) {
  (void)user;
  log_count++;
  (void)snprintf(log_lines, sizeof log_lines, "%s", line);
}

static const sm_log test_log = {.enabled = 1u << SM_LOG_COMPILE, .fn = remember_line};

static void reopen(void) {
  sm_code_cache_close(&cache);
  log_count = 0;
  sm_code_cache_open(&cache, SM_CPU_AVX2, &sm_malloc_allocator, &test_log);
}

/* A temporary folder `root`; the cache is to be `folder` in it. */
static void enter_closed(void) {
  CHECK(mkdtemp(root) != NULL);
  (void)snprintf(folder, sizeof folder, "%s/cache", root);
  CHECK(setenv("SMELT_CACHE_DIR", folder, 1) == 0);
  CHECK(unsetenv("SMELT_CACHE") == 0 && unsetenv("SMELT_CACHE_DISK_BYTES") == 0);
  cache.folder = -1;
}

static void enter(void) {
  enter_closed();
  reopen();
  CHECK(cache.folder >= 0);
  CHECK_I64(log_count, 0);
}

static void leave(void) {
  sm_code_cache_close(&cache);
  char command[64];
  (void)snprintf(command, sizeof command, "rm -rf %s", root);
  CHECK(system(command) == 0);
}

static void expect_off(const char *reason) {
  reopen();
  CHECK_I64(cache.folder, -1);
  CHECK_I64(log_count, 1);
  CHECK_CONTAINS(log_lines, "[compile] cache: off: ");
  CHECK_CONTAINS(log_lines, reason);
  sm_object object;
  sm_code_cache_put(&cache, (sm_hash){1, 2}, "llvm", &(sm_object){"code", 4});
  CHECK(!sm_code_cache_get(&cache, (sm_hash){1, 2}, &object) && object.data == NULL);
  CHECK_I64(log_count, 1);
}

/* --- Code and files ---------------------------------------------------------------------- */

static const sm_hash a_key = {0x0123456789abcdefu, 0xfedcba9876543210u};
static const sm_hash b_key = {7, 8};
static char a_code[] = "what the compiler made of a kernel";

static void put_text(sm_hash key, char *text) {
  sm_code_cache_put(&cache, key, "libLLVM-19.so.1", &(sm_object){text, strlen(text)});
}

static bool get_text(sm_hash key, const char *text) {
  sm_object object;
  if (!sm_code_cache_get(&cache, key, &object)) {
    CHECK(object.data == NULL);
    return false;
  }
  bool same = object.size == strlen(text) && memcmp(object.data, text, object.size) == 0;
  sm_free(&sm_malloc_allocator, object.data, object.size);
  CHECK(same);
  return true;
}

static sm_code_cache_files list_files(void) {
  sm_code_cache_files files;
  smelt_error err = {0};
  CHECK_OK(sm_code_cache_list(cache.folder, &sm_malloc_allocator, &files, &err), err);
  return files;
}

static size_t count_files(void) {
  sm_code_cache_files files = list_files();
  size_t n = files.len;
  sm_vec_free(&sm_malloc_allocator, &files);
  return n;
}

/* The path of the only file in the cache. */
static const char *only_path(void) {
  static char path[128];
  sm_code_cache_files files = list_files();
  CHECK_I64(files.len, 1);
  (void)snprintf(path, sizeof path, "%s/%s", folder, files.items[0].name);
  sm_vec_free(&sm_malloc_allocator, &files);
  return path;
}

typedef struct bytes {
  unsigned char data[512];
  size_t n;
} bytes;

static bytes read_whole(const char *path) {
  bytes b;
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  b.n = fread(b.data, 1, sizeof b.data, file);
  CHECK(fclose(file) == 0);
  return b;
}

static void write_whole(const char *path, const void *data, size_t n) {
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(data, 1, n, file) == n && fclose(file) == 0);
  CHECK(chmod(path, 0600) == 0);
}

/* The entry of a_key is ignored for this reason, and replaced by the next put. */
static void expect_ignored(const char *reason) {
  log_count = 0;
  CHECK(!get_text(a_key, a_code));
  CHECK_I64(log_count, 1);
  CHECK_CONTAINS(log_lines, "[compile] cache: ");
  CHECK_CONTAINS(log_lines, reason);
  put_text(a_key, a_code);
  CHECK(get_text(a_key, a_code));
  CHECK_I64(count_files(), 1);
}

/* --- Keeping -------------------------------------------------------------------------------- */

TEST(what_was_put_comes_back) {
  enter();
  CHECK(!get_text(a_key, a_code));
  put_text(a_key, a_code);
  put_text(b_key, "another");
  CHECK(get_text(a_key, a_code));
  CHECK(get_text(b_key, "another"));
  CHECK(!get_text((sm_hash){8, 7}, ""));
  put_text(b_key, "its successor");
  CHECK(get_text(b_key, "its successor"));
  CHECK_I64(count_files(), 2);
  reopen();
  CHECK(get_text(a_key, a_code));
  CHECK_I64(log_count, 0);
  leave();
}

TEST(folder_and_entries_are_private) {
  enter();
  (void)umask(0);
  leave();
  memcpy(root + strlen(root) - 6, "XXXXXX", 6);
  enter();
  put_text(a_key, a_code);
  struct stat st;
  CHECK(stat(folder, &st) == 0);
  CHECK_I64(st.st_mode & 07777, 0700);
  CHECK(stat(only_path(), &st) == 0);
  CHECK_I64(st.st_mode & 07777, 0600);
  leave();
}

TEST(levels_and_versions_have_entries_of_their_own) {
  enter();
  put_text(a_key, a_code);
  cache.level = SM_CPU_AVX512;
  CHECK(!get_text(a_key, a_code));
  put_text(a_key, "wide");
  cache.level = SM_CPU_AVX2;
  cache.generator++;
  CHECK(!get_text(a_key, a_code));
  put_text(a_key, "new");
  CHECK_I64(count_files(), 3);
  cache.generator--;
  CHECK(get_text(a_key, a_code));
  CHECK(sm_code_cache_generator() == cache.generator && cache.generator != 0);
  leave();
}

TEST(large_code) {
  enter();
  size_t size = 3 << 20;
  sm_object code = {malloc(size), size}, back;
  CHECK(code.data != NULL);
  for (size_t i = 0; i < size; i++) ((unsigned char *)code.data)[i] = (unsigned char)(i * i >> 7);
  sm_code_cache_put(&cache, a_key, "llvm", &code);
  CHECK(sm_code_cache_get(&cache, a_key, &back));
  CHECK(back.size == size && memcmp(back.data, code.data, size) == 0);
  sm_free(&sm_malloc_allocator, back.data, back.size);
  free(code.data);
  leave();
}

/* --- Entries that cannot be used ---------------------------------------------------------------- */

TEST(truncated_at_every_byte) {
  enter();
  put_text(a_key, a_code);
  char path[128];
  (void)snprintf(path, sizeof path, "%s", only_path());
  bytes whole = read_whole(path);
  CHECK_I64(whole.n, sizeof(sm_code_entry) + strlen(a_code));
  for (size_t n = 0; n < whole.n; n++) {
    write_whole(path, whole.data, n);
    expect_ignored("is truncated");
  }
  whole.data[whole.n] = 0;
  write_whole(path, whole.data, whole.n + 1);
  expect_ignored("goes on after its end");
  leave();
}

TEST(every_bit_flipped) {
  enter();
  put_text(a_key, a_code);
  char path[128];
  (void)snprintf(path, sizeof path, "%s", only_path());
  bytes whole = read_whole(path);
  for (size_t bit = 0; bit < whole.n * 8; bit++) {
    whole.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    write_whole(path, whole.data, whole.n);
    size_t byte = bit / 8;
    expect_ignored(byte < 8                       ? "is no entry"
                   : byte < sizeof(sm_code_entry) ? "has a damaged header"
                                                  : "has damaged code");
    whole.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  leave();
}

/* Writes an entry under the name of a_key's after `change`, with hashes that fit. */
static void forge(void (*change)(sm_code_entry *entry)) {
  const char *path = only_path();
  bytes whole = read_whole(path);
  sm_code_entry entry;
  memcpy(&entry, whole.data, sizeof entry);
  change(&entry);
  sm_hash hash = sm_hash_start();
  sm_hash_bytes(&hash, &entry, offsetof(sm_code_entry, header));
  entry.header = hash;
  memcpy(whole.data, &entry, sizeof entry);
  write_whole(path, whole.data, whole.n);
}

static void change_format(sm_code_entry *entry) { entry->format++; }
static void change_level(sm_code_entry *entry) { entry->level = SM_CPU_AVX512; }
static void break_level(sm_code_entry *entry) { entry->level = 77; }
static void change_generator(sm_code_entry *entry) { entry->generator++; }
static void change_key(sm_code_entry *entry) { entry->key.lo ^= 1; }
static void change_nothing(sm_code_entry *entry) { (void)entry; }
static void enlarge(sm_code_entry *entry) { entry->size = UINT64_MAX; }
static void shrink(sm_code_entry *entry) { entry->size = 1; }
static void fill_name(sm_code_entry *entry) { memset(entry->llvm, 'x', sizeof entry->llvm); }

TEST(foreign_entries) {
  static const struct {
    void (*change)(sm_code_entry *entry);
    const char *reason;
  } cases[] = {
      {change_format, "has another format"},   {change_level, "was made for another processor"},
      {break_level, "has a wrong header"},     {change_generator, "was made by another version"},
      {change_key, "has the name of another"}, {enlarge, "is truncated"},
      {shrink, "goes on after its end"},       {fill_name, "has a wrong header"},
  };
  enter();
  put_text(a_key, a_code);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    forge(cases[i].change);
    expect_ignored(cases[i].reason);
  }
  forge(change_nothing);
  CHECK(get_text(a_key, a_code));
  leave();
}

TEST(llvm_that_is_not_trusted) {
  static const char *const refused[] = {"libLLVM-1.so", "libLLVM-19.so.1", NULL};
  enter();
  put_text(a_key, a_code);
  cache.refused = refused;
  CHECK(!get_text(a_key, a_code));
  CHECK_CONTAINS(log_lines, "was made by an LLVM that is not trusted");
  sm_code_cache_put(&cache, a_key, "libLLVM-20.so", &(sm_object){a_code, strlen(a_code)});
  CHECK(get_text(a_key, a_code));
  leave();
}

TEST(entries_that_are_no_files_of_ours) {
  enter();
  put_text(a_key, a_code);
  char path[128], other[128];
  (void)snprintf(path, sizeof path, "%s", only_path());
  (void)snprintf(other, sizeof other, "%s/other", root);
  CHECK(rename(path, other) == 0 && symlink(other, path) == 0);
  expect_ignored("is a symbolic link");
  bytes kept = read_whole(other);
  CHECK_I64(kept.n, sizeof(sm_code_entry) + strlen(a_code));
  CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
  expect_ignored("is not a regular file");
  CHECK(chmod(path, 0620) == 0);
  expect_ignored("can be written by other users");
  CHECK(chmod(path, 0602) == 0);
  expect_ignored("can be written by other users");
  if (geteuid() == 0) {
    CHECK(chown(path, NOBODY, NOBODY) == 0);
    expect_ignored("belongs to another user");
  }
  leave();
}

TEST(folder_with_the_name_of_an_entry) {
  enter();
  put_text(a_key, a_code);
  char path[128];
  (void)snprintf(path, sizeof path, "%s", only_path());
  CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
  CHECK(!get_text(a_key, a_code));
  CHECK_CONTAINS(log_lines, "is not a regular file");
  put_text(a_key, a_code);
  CHECK_CONTAINS(log_lines, "cannot be written");
  CHECK_I64(count_files(), 1);
  leave();
}

/* --- Folders that are not used ------------------------------------------------------------------ */

TEST(switched_off) {
  enter_closed();
  CHECK(setenv("SMELT_CACHE", "0", 1) == 0);
  expect_off("switched off by SMELT_CACHE=0");
  CHECK(access(folder, F_OK) != 0);
  CHECK(setenv("SMELT_CACHE", "perhaps", 1) == 0);
  expect_off("SMELT_CACHE");
  CHECK(setenv("SMELT_CACHE", "1", 1) == 0);
  reopen();
  CHECK(cache.folder >= 0);
  leave();
}

TEST(folders_not_to_be_trusted) {
  enter_closed();
  char real[80];
  (void)snprintf(real, sizeof real, "%s/real", root);
  CHECK(mkdir(folder, 0700) == 0 && chmod(folder, 0720) == 0);
  expect_off("can be written by other users");
  CHECK(chmod(folder, 0702) == 0);
  expect_off("can be written by other users");
  CHECK(chmod(folder, 0755) == 0);
  reopen();
  CHECK(cache.folder >= 0);
  CHECK(rename(folder, real) == 0 && symlink(real, folder) == 0);
  expect_off("is not a folder");
  char with_slash[80];
  (void)snprintf(with_slash, sizeof with_slash, "%s//", folder);
  CHECK(setenv("SMELT_CACHE_DIR", with_slash, 1) == 0);
  expect_off("is not a folder");
  CHECK(setenv("SMELT_CACHE_DIR", folder, 1) == 0);
  CHECK(unlink(folder) == 0);
  write_whole(folder, "", 0);
  expect_off("is not a folder");
  leave();
}

TEST(folder_of_another_user) {
  if (geteuid() != 0) TEST_SKIP("only root can give a folder away");
  enter();
  CHECK(chown(folder, NOBODY, NOBODY) == 0);
  expect_off("belongs to another user");
  leave();
}

TEST(places) {
  enter_closed();
  char path[96];
  CHECK(unsetenv("SMELT_CACHE_DIR") == 0 && setenv("HOME", root, 1) == 0);
  CHECK(setenv("XDG_CACHE_HOME", "not/absolute", 1) == 0);
  reopen();
  (void)snprintf(path, sizeof path, "%s/.cache/smelt", root);
  CHECK(cache.folder >= 0 && access(path, F_OK) == 0);
  (void)snprintf(path, sizeof path, "%s/x/y", root);
  CHECK(setenv("XDG_CACHE_HOME", path, 1) == 0 && setenv("SMELT_CACHE_DIR", "", 1) == 0);
  reopen();
  (void)snprintf(path, sizeof path, "%s/x/y/smelt", root);
  CHECK(cache.folder >= 0 && access(path, F_OK) == 0);
  CHECK(unsetenv("XDG_CACHE_HOME") == 0 && unsetenv("HOME") == 0);
  expect_off("SMELT_CACHE_DIR, XDG_CACHE_HOME and HOME are not set");
  CHECK(setenv("HOME", "/nowhere", 1) == 0);
  expect_off("missing or another user's");
  CHECK(chdir(root) == 0 && setenv("SMELT_CACHE_DIR", "relative", 1) == 0);
  reopen();
  CHECK(cache.folder >= 0 && access("relative", F_OK) == 0);
  leave();
}

TEST(home_of_another_user) {
  if (geteuid() != 0) TEST_SKIP("only root can give a folder away");
  enter_closed();
  CHECK(unsetenv("SMELT_CACHE_DIR") == 0 && unsetenv("XDG_CACHE_HOME") == 0 && setenv("HOME", root, 1) == 0);
  CHECK(chown(root, NOBODY, NOBODY) == 0);
  expect_off("missing or another user's");
  leave();
}

/* --- Elevated privileges: a copy of this program that belongs to another user ------------------------ */

static const char child_variable[] = "CACHE_TEST_IS_ELEVATED";

static void copy_program(const char *to) {
  char command[160];
  (void)snprintf(command, sizeof command, "cp /proc/%ld/exe %s", (long)getpid(), to);
  CHECK(system(command) == 0);
  (void)snprintf(command, sizeof command, "%s --list >/dev/null 2>&1", to);
  if (system(command) != 0) {
    leave();
    TEST_SKIP("a copy of this program does not run, as in an emulator");
  }
  CHECK(chown(to, NOBODY, NOBODY) == 0 && chmod(to, 04755) == 0);
}

TEST(elevated_process_has_no_cache) {
  if (getenv(child_variable)) {
    if (secure_getenv("SMELT_CACHE_DIR")) TEST_SKIP("the file system knows no elevated programs");
    expect_off("elevated privileges");
    _exit(0); /* a leak checker could not look into such a process */
  }
  if (geteuid() != 0) TEST_SKIP("only root can make a program another user's");
  enter_closed();
  char program[80], command[256];
  (void)snprintf(program, sizeof program, "%s/program", root);
  CHECK(chmod(root, 0755) == 0);
  copy_program(program);
  CHECK(setenv(child_variable, "1", 1) == 0);
  (void)snprintf(command, sizeof command, "%s --no-fork elevated_process_has_no_cache >/dev/null", program);
  CHECK(system(command) == 0);
  leave();
}

/* --- Disks that are full or cannot be written ---------------------------------------------------------- */

TEST(files_may_not_grow) {
  enter();
  const struct rlimit limit = {100, 100};
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  put_text(a_key, a_code);
  CHECK_I64(log_count, 1);
  CHECK_CONTAINS(log_lines, "cannot be written");
  CHECK_I64(count_files(), 0);
  leave();
}

TEST(full_disk) {
  enter_closed();
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("tmpfs", root, "tmpfs", 0, "size=64k,mode=0700") != 0) {
    leave();
    TEST_SKIP("no file system of a small size can be mounted");
  }
  reopen();
  CHECK(cache.folder >= 0);
  put_text(a_key, a_code);
  sm_object large = {calloc(1, 1 << 20), 1 << 20};
  CHECK(large.data != NULL);
  sm_code_cache_put(&cache, b_key, "llvm", &large);
  free(large.data);
  CHECK_I64(log_count, 1);
  CHECK_CONTAINS(log_lines, "cannot be written");
  CHECK_I64(count_files(), 1);
  CHECK(get_text(a_key, a_code));
  sm_code_cache_close(&cache);
  CHECK(umount2(root, MNT_DETACH) == 0);
  leave();
}

TEST(folder_that_cannot_be_written) {
  bool root_user = geteuid() == 0;
  enter();
  put_text(a_key, a_code);
  if (root_user) {
    CHECK(chmod(root, 0755) == 0 && chown(folder, NOBODY, NOBODY) == 0);
    CHECK(chown(only_path(), NOBODY, NOBODY) == 0);
    CHECK(setresuid(NOBODY, NOBODY, 0) == 0);
  }
  CHECK(chmod(folder, 0500) == 0);
  reopen();
  CHECK(get_text(a_key, a_code));
  put_text(b_key, "more");
  CHECK_CONTAINS(log_lines, "cannot be written");
  CHECK(!get_text(b_key, "more"));
  CHECK_I64(count_files(), 1);
  CHECK(chmod(folder, 0700) == 0);
  if (root_user) CHECK(setresuid(0, 0, 0) == 0);
  leave();
}

TEST(parent_that_cannot_be_written) {
  bool root_user = geteuid() == 0;
  enter_closed();
  CHECK(chmod(root, root_user ? 0755 : 0500) == 0);
  if (root_user) CHECK(setresuid(NOBODY, NOBODY, 0) == 0);
  expect_off("cannot be opened");
  if (root_user) CHECK(setresuid(0, 0, 0) == 0);
  CHECK(chmod(root, 0700) == 0);
  leave();
}

TEST(folder_that_disappears) {
  enter();
  put_text(a_key, a_code);
  char command[80];
  (void)snprintf(command, sizeof command, "rm -rf %s", folder);
  CHECK(system(command) == 0);
  CHECK(!get_text(a_key, a_code));
  CHECK_I64(log_count, 0);
  put_text(a_key, a_code);
  CHECK(!get_text(a_key, a_code));
  leave();
}

/* --- Memory ------------------------------------------------------------------------------------------- */

static void *refuse_memory(void *user, void *ptr, size_t old, size_t size) {
  (void)user, (void)ptr, (void)old, (void)size;
  return NULL;
}

TEST(no_memory) {
  enter();
  put_text(a_key, a_code);
  const sm_allocator none = {refuse_memory, NULL};
  cache.allocator = &none;
  sm_object object;
  CHECK(!sm_code_cache_get(&cache, a_key, &object) && object.data == NULL);
  cache.limit = 1000;
  put_text(b_key, "more");
  cache.allocator = &sm_malloc_allocator;
  CHECK(get_text(a_key, a_code) && get_text(b_key, "more"));
  leave();
}

/* --- The bound on the size --------------------------------------------------------------------------------
 */

static void make_older(const char *name, int seconds) {
  struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
  CHECK(utimensat(cache.folder, name, times, 0) == 0);
}

TEST(oldest_entries_go_first) {
  enter();
  char code[401];
  memset(code, 'x', 400);
  code[400] = 0;
  char name[SM_CODE_ENTRY_NAME];
  for (uint64_t i = 0; i < 10; i++) put_text((sm_hash){i, 0}, code);
  for (uint64_t i = 0; i < 10; i++) {
    sm_hash key = {i, 0};
    sm_hash_u64(&key, cache.generator);
    sm_hash_u64(&key, cache.level);
    sm_code_entry_name(key, name);
    make_older(name, 1000 - 10 * (int)i);
  }
  cache.limit = 5280; /* ten entries */
  put_text((sm_hash){10, 0}, code);
  CHECK_I64(count_files(), 7);
  for (uint64_t i = 0; i <= 10; i++) CHECK(get_text((sm_hash){i, 0}, code) == (i >= 4));
  leave();
}

TEST(size_stays_bounded) {
  enter();
  CHECK(setenv("SMELT_CACHE_DISK_BYTES", "100000", 1) == 0);
  reopen();
  CHECK_I64(cache.limit, 100000);
  for (uint64_t i = 0; i < 2000; i++) put_text((sm_hash){i, i}, a_code);
  sm_code_cache_files files = list_files();
  uint64_t total = 0;
  for (size_t i = 0; i < files.len; i++) total += files.items[i].size;
  sm_vec_free(&sm_malloc_allocator, &files);
  CHECK(total > 60000 && total < 200000);
  CHECK(setenv("SMELT_CACHE_DISK_BYTES", "10", 1) == 0);
  reopen();
  put_text((sm_hash){1, 77}, a_code);
  CHECK(!get_text((sm_hash){1, 77}, a_code));
  CHECK(setenv("SMELT_CACHE_DISK_BYTES", "much", 1) == 0);
  expect_off("SMELT_CACHE_DISK_BYTES");
  leave();
}

TEST(temporary_files_that_were_left_behind) {
  enter();
  char path[128];
  for (int i = 0; i < 3; i++) {
    (void)snprintf(path, sizeof path, "%s/" SM_CACHE_TEMPORARY "%ld-%d", folder, (long)getpid(), i);
    write_whole(path, "half", 4);
  }
  (void)snprintf(path, sizeof path, "%s/notes.txt", folder);
  write_whole(path, "the user's", 10);
  put_text(a_key, a_code);
  CHECK_I64(count_files(), 4);
  make_older("notes.txt", 100000);
  (void)snprintf(path, sizeof path, SM_CACHE_TEMPORARY "%ld-1", (long)getpid());
  make_older(path, 4000);
  sm_code_cache_trim(cache.folder, &sm_malloc_allocator, 0);
  CHECK_I64(count_files(), 2);
  CHECK(faccessat(cache.folder, "notes.txt", F_OK, 0) == 0);
  leave();
}

/* --- Several processes ---------------------------------------------------------------------------------- */

/* Code whose bytes follow from its key and a number. */
static void make_code(uint64_t key, uint64_t number, char out[600]) {
  int n = snprintf(out, 600, "%d:", (int)key);
  size_t length = (size_t)n + 10 + (size_t)(number * 37 % 500);
  memset(out + n, 'a' + (int)(number % 26), length - (size_t)n);
  out[length] = 0;
}

static bool is_code_of(uint64_t key, const sm_object *object) {
  const char *text = object->data, *colon = memchr(text, ':', object->size);
  if (!colon || strtoull(text, NULL, 10) != key) return false;
  for (size_t i = (size_t)(colon + 1 - text); i < object->size; i++) {
    if (text[i] != colon[1]) return false;
  }
  return true;
}

enum { HAMMER_KEYS = 8, HAMMER_ROUNDS = 4000 };

/* Puts and gets the same few keys; answers how many gets found something. */
static int hammer(uint64_t number) {
  int found = 0;
  char text[600];
  for (uint64_t i = 0; i < HAMMER_ROUNDS; i++) {
    sm_hash key = {i * number % HAMMER_KEYS, 5};
    sm_object object;
    if (sm_code_cache_get(&cache, key, &object)) {
      if (!is_code_of(key.lo, &object)) return -1;
      sm_free(&sm_malloc_allocator, object.data, object.size);
      found++;
    }
    if (i % 3 == 0) {
      make_code(key.lo, i + number, text);
      put_text(key, text);
    }
  }
  return log_count ? -1 : found;
}

TEST(two_processes_use_one_cache) {
  enter();
  cache.limit = 4000;
  pid_t children[2];
  for (int i = 0; i < 2; i++) {
    children[i] = fork();
    CHECK(children[i] >= 0);
    if (children[i] == 0) _exit(hammer(i ? 7 : 3) > HAMMER_ROUNDS / 4 ? 0 : 1);
  }
  for (int i = 0; i < 2; i++) {
    int status;
    CHECK(waitpid(children[i], &status, 0) == children[i]);
    CHECK_I64(status, 0);
  }
  CHECK(count_files() <= HAMMER_KEYS);
  leave();
}

TEST_MAIN(CASE(what_was_put_comes_back), CASE(folder_and_entries_are_private),
          CASE(levels_and_versions_have_entries_of_their_own), CASE(large_code),
          CASE(truncated_at_every_byte), CASE(every_bit_flipped), CASE(foreign_entries),
          CASE(llvm_that_is_not_trusted), CASE(entries_that_are_no_files_of_ours),
          CASE(folder_with_the_name_of_an_entry), CASE(switched_off), CASE(folders_not_to_be_trusted),
          CASE(folder_of_another_user), CASE(places), CASE(home_of_another_user),
          CASE(elevated_process_has_no_cache), CASE(files_may_not_grow), CASE(full_disk),
          CASE(folder_that_cannot_be_written), CASE(parent_that_cannot_be_written),
          CASE(folder_that_disappears), CASE(no_memory), CASE(oldest_entries_go_first),
          CASE(size_stays_bounded), CASE(temporary_files_that_were_left_behind),
          CASE(two_processes_use_one_cache))
