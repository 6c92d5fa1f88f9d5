/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/kernel_table.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/observer.h"
#include "base/timeline.h"
#include "rt/call_driver.h"

bool sm_kernel_table_init(sm_kernel_table *table, sm_device *device, const sm_log *log,
                          sm_counters *counters) {
  *table = (sm_kernel_table){.device = device, .log = log, .counters = counters};
  return sm_mutex_init(&table->lock, SM_LOCK_KERNELS);
}

static void free_entry(const sm_kernel_table *table, sm_kernel_entry *entry) {
  if (entry->kernel) sm_call_release(table->device, entry->kernel);
  sm_free(table->device->allocator, entry, sizeof *entry);
}

void sm_kernel_table_free(sm_kernel_table *table) {
  for (sm_kernel_entry *entry = table->first, *next; entry; entry = next) {
    next = entry->next;
    free_entry(table, entry);
  }
  sm_mutex_destroy(&table->lock);
}

/* --- Entries: with the lock ---------------------------------------------------------- */

/* Where the entry is linked, or the end of the list. */
static sm_kernel_entry **find(sm_kernel_table *table, sm_hash hash) {
  sm_kernel_entry **link = &table->first;
  while (*link && !sm_hash_equal((*link)->hash, hash)) link = &(*link)->next;
  return link;
}

static void unlink_entry(sm_kernel_entry **link) { *link = (*link)->next; }

/* The entry that was made, perhaps after a wait, or NULL. One that a thread was making when the
 * process was forked is never finished in the child. */
static sm_kernel_entry *find_made(sm_kernel_table *table, sm_hash hash) {
  for (sm_kernel_entry **link; *(link = find(table, hash));) {
    if (!(*link)->making) return *link;
    if ((*link)->process == sm_thread_process()) sm_event_wait(&table->made, &table->lock);
    else unlink_entry(link);
  }
  return NULL;
}

/* The entry for `fresh->hash`: one that exists, or `fresh`, for the caller to make. */
static sm_kernel_entry *find_or_add(sm_kernel_table *table, sm_kernel_entry *fresh) {
  sm_lock(&table->lock);
  sm_kernel_entry *entry = find_made(table, fresh->hash);
  if (!entry) {
    fresh->next = table->first;
    table->first = entry = fresh;
  }
  sm_unlock(&table->lock);
  return entry;
}

static void finish(sm_kernel_table *table, sm_kernel_entry *entry, bool keep) {
  sm_lock(&table->lock);
  entry->making = false;
  sm_kernel_entry **link = find(table, entry->hash);
  if (!keep && *link == entry) unlink_entry(link);
  sm_event_signal(&table->made);
  sm_unlock(&table->lock);
}

/* --- Making: without it ------------------------------------------------------------------ */

static void log_compile(const sm_kernel_table *table, const sm_kir_kernel *ir) {
  if (!sm_log_on(table->log, SM_LOG_COMPILE)) return;
  sm_text text;
  sm_text_init(&text, table->device->allocator);
  sm_text_addf(&text, "[compile] %s for %s\n", ir->name, table->device->profile->name);
  sm_kir_print(&text, ir);
  sm_log_text(table->log, &text);
}

static smelt_status make(sm_kernel_table *table, sm_kir_kernel *ir, bool interpreted, sm_kernel_entry *entry,
                         smelt_error *err) {
  const sm_driver *driver = table->device->driver;
  int64_t begin = sm_timeline_begin(table->log);
  SM_TRY(sm_kir_verify(ir, err));
  log_compile(table, ir);
  SM_TRY(sm_call_compile(table->device, ir, interpreted, &entry->kernel, err));
  sm_count(&table->counters->kernels_compiled, 1);
  sm_tell(table->log, kernel, .name = entry->name, .ns = sm_os_now() - begin,
          .from_cache = driver->from_cache && driver->from_cache(entry->kernel), .interpreted = interpreted);
  sm_span span = {.category = "compile", .name = entry->name, .begin = begin};
  sm_timeline_add(table->log, span, &(sm_fact){.name = "interpreted", .number = interpreted}, 1);
  return SMELT_OK;
}

/* What has no code may still be interpreted: that is another kernel. */
static sm_hash identity_of(const sm_kir_kernel *ir, bool interpreted) {
  sm_hash hash = sm_kir_hash(ir);
  if (interpreted) sm_hash_u64(&hash, interpreted);
  return hash;
}

static sm_kernel_entry *new_entry(const sm_kernel_table *table, sm_kir_kernel *ir, const char *prefix,
                                  bool interpreted) {
  sm_kernel_entry *entry = sm_alloc(table->device->allocator, sizeof *entry);
  if (!entry) return NULL;
  *entry = (sm_kernel_entry){.hash = identity_of(ir, interpreted),
                             .interpreted = interpreted,
                             .making = true,
                             .process = sm_thread_process()};
  (void)snprintf(ir->name, sizeof ir->name, "%.36s_%08" PRIx32, prefix, (uint32_t)(entry->hash.lo >> 32));
  (void)snprintf(entry->name, sizeof entry->name, "%s", ir->name);
  return entry;
}

static smelt_status answer(const sm_kernel_entry *entry, smelt_error *err) {
  return entry->kernel ? SMELT_OK : sm_error_set(err, SMELT_ERR_UNSUPPORTED, "%s has no code", entry->name);
}

/* The IR stays the caller's unless it went into a kernel. */
static smelt_status get(sm_kernel_table *table, sm_kir_kernel *ir, const char *prefix, bool interpreted,
                        const sm_kernel_entry **out, bool *taken, smelt_error *err) {
  sm_kernel_entry *fresh = new_entry(table, ir, prefix, interpreted);
  if (!fresh) return sm_error_memory(err, "a kernel");
  sm_kernel_entry *entry = find_or_add(table, fresh);
  *out = entry;
  if (entry != fresh) {
    free_entry(table, fresh);
    return answer(entry, err);
  }
  smelt_status status = make(table, ir, interpreted, entry, err);
  bool keep = status == SMELT_OK || status == SMELT_ERR_UNSUPPORTED;
  *taken = status == SMELT_OK;
  finish(table, entry, keep);
  if (!keep) free_entry(table, entry);
  return status;
}

smelt_status sm_kernel_table_get(sm_kernel_table *table, sm_kir_kernel *ir, const char *prefix,
                                 bool interpreted, const sm_kernel_entry **out, smelt_error *err) {
  bool taken = false;
  smelt_status status = get(table, ir, prefix, interpreted, out, &taken, err);
  if (!taken) sm_kir_free(ir);
  return status;
}
