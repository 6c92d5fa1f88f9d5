/* SPDX-License-Identifier: Apache-2.0
 *
 * smelt cache: what is in the cache of compiled kernels, whether it is sound,
 * and emptying it. The command is linked statically and looks at the folder as
 * the library does. */
#define _XOPEN_SOURCE 700
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "commands.h"
#include "rt/cache_folder.h"
#include "rt/code_cache.h"

static const char help[] =
    "usage: smelt cache ls|verify|clear\n"
    "\n"
    "  ls      list the compiled kernels on disk, the oldest first\n"
    "  verify  read them all and list those that cannot be used; status 1 if there are any\n"
    "  clear   remove them\n"
    "\n"
    "The folder is SMELT_CACHE_DIR, XDG_CACHE_HOME/smelt or HOME/.cache/smelt.\n";

typedef struct opened_cache {
  sm_text path;
  int folder; /* -1: there is none yet */
  uint64_t limit;
  sm_code_cache_files files;
} opened_cache;

/* --- Words ------------------------------------------------------------------------- */

/* "1.6 KiB"; `out` has room for 24 characters. */
static const char *size_text(uint64_t bytes, char out[24]) {
  static const char *const units[] = {"KiB", "MiB", "GiB"};
  if (bytes < 1024) {
    (void)snprintf(out, 24, "%d B", (int)bytes);
    return out;
  }
  size_t unit = 0;
  uint64_t tenths = bytes / 1024 * 10 + bytes % 1024 * 10 / 1024;
  for (; tenths >= 10240 && unit + 1 < sizeof units / sizeof units[0]; unit++) tenths /= 1024;
  (void)snprintf(out, 24, "%" PRIu64 ".%d %s", tenths / 10, (int)(tenths % 10), units[unit]);
  return out;
}

/* "3 min"; `out` has room for 24 characters. */
static const char *age_text(int64_t seconds, char out[24]) {
  static const struct {
    int64_t seconds;
    const char *name;
  } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
  if (seconds < 0) seconds = 0;
  size_t unit = 0;
  while (unit < 3 && seconds < units[unit].seconds) unit++;
  (void)snprintf(out, 24, "%" PRId64 " %s", seconds / units[unit].seconds, units[unit].name);
  return out;
}

static const char *files_text(size_t n) { return n == 1 ? "file" : "files"; }

/* --- Looking at entries ---------------------------------------------------------------- */

/* Reads and verifies an entry; answers what is wrong with it. */
static const char *read_entry(const opened_cache *cache, const char *name, sm_code_entry *entry) {
  if (!sm_code_entry_is_name(name)) return "is being written, or was left behind";
  sm_object code;
  const char *fault = sm_code_entry_read(cache->folder, name, &sm_malloc_allocator, entry, &code);
  if (!fault && !code.data) fault = "is gone";
  sm_free(&sm_malloc_allocator, code.data, code.size);
  return fault;
}

static void print_entry(const sm_code_cache_file *file, const sm_code_entry *entry, const char *fault) {
  char size[24], age[24];
  printf("%-32s  %10s  %7s  ", file->name, size_text(file->size, size),
         age_text((int64_t)time(NULL) - file->written, age));
  if (fault) {
    printf("%s\n", fault);
    return;
  }
  bool current = entry->generator == sm_code_cache_generator();
  printf("%-8s  %s%s\n", sm_cpu_level_name((sm_cpu_level)entry->level), entry->llvm,
         current ? "" : "  was made by another version");
}

/* Prints the entries, or the faulty ones only; answers how many of these there are. */
static size_t print_entries(const opened_cache *cache, bool faulty_only) {
  size_t faulty = 0;
  for (size_t i = 0; i < cache->files.len; i++) {
    const sm_code_cache_file *file = &cache->files.items[i];
    sm_code_entry entry;
    const char *fault = read_entry(cache, file->name, &entry);
    faulty += fault != NULL && sm_code_entry_is_name(file->name);
    if (fault || !faulty_only) print_entry(file, &entry, fault);
  }
  return faulty;
}

static void print_total(const opened_cache *cache) {
  uint64_t total = 0;
  for (size_t i = 0; i < cache->files.len; i++) total += cache->files.items[i].size;
  char size[24], limit[24];
  printf("%s: %zu %s, %s of %s\n", cache->path.data, cache->files.len, files_text(cache->files.len),
         size_text(total, size), size_text(cache->limit, limit));
}

/* --- The actions ------------------------------------------------------------------------- */

static int list(const opened_cache *cache) {
  (void)print_entries(cache, false);
  print_total(cache);
  return CLI_OK;
}

static int verify(const opened_cache *cache) {
  size_t faulty = print_entries(cache, true);
  print_total(cache);
  if (!faulty) return CLI_OK;
  (void)fflush(stdout);
  (void)cli_fail("cache", SMELT_ERR_FORMAT, "%zu faulty %s (they are not used)", faulty, files_text(faulty));
  return CLI_FAILURE;
}

static int clear(const opened_cache *cache) {
  size_t removed = 0;
  for (size_t i = 0; i < cache->files.len; i++) {
    removed += unlinkat(cache->folder, cache->files.items[i].name, 0) == 0;
  }
  printf("%s: %zu %s removed\n", cache->path.data, removed, files_text(removed));
  if (removed == cache->files.len) return CLI_OK;
  (void)fflush(stdout);
  (void)cli_fail("cache", SMELT_ERR_IO, "%zu not removed", cache->files.len - removed);
  return CLI_FAILURE;
}

/* --- The command ------------------------------------------------------------------------- */

/* A folder that does not exist is an empty cache. */
static smelt_status open_cache(opened_cache *cache, smelt_error *err) {
  SM_TRY(sm_code_cache_limit(&cache->limit, err));
  SM_TRY(sm_cache_folder_find(&cache->path, err));
  if (access(cache->path.data, F_OK) != 0) return SMELT_OK;
  SM_TRY(sm_cache_folder_open(cache->path.data, false, &cache->folder, err));
  return sm_code_cache_list(cache->folder, &sm_malloc_allocator, &cache->files, err);
}

static int run(int (*action)(const opened_cache *cache)) {
  opened_cache cache = {.folder = -1};
  smelt_error err;
  sm_text_init(&cache.path, &sm_malloc_allocator);
  smelt_status status = open_cache(&cache, &err);
  int result = status == SMELT_OK ? action(&cache) : cli_fail("cache", status, "%s", err.text);
  if (cache.folder >= 0) (void)close(cache.folder);
  sm_vec_free(&sm_malloc_allocator, &cache.files);
  sm_text_free(&cache.path);
  return result;
}

int cmd_cache(int argc, char **argv) {
  int status;
  if (cli_only_help(argc, argv, help, &status)) return status;
  if (argc == optind)
    return cli_fail("cache", SMELT_ERR_ARGUMENT, "what to do is missing: ls, verify or clear");
  if (argc - optind > 1) return cli_fail("cache", SMELT_ERR_ARGUMENT, "one action at most");
  const char *action = argv[optind];
  if (strcmp(action, "ls") == 0) return run(list);
  if (strcmp(action, "verify") == 0) return run(verify);
  if (strcmp(action, "clear") == 0) return run(clear);
  return cli_fail("cache", SMELT_ERR_ARGUMENT, "no action '%s': ls, verify or clear", action);
}
