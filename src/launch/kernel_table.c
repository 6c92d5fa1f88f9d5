/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/kernel_table.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"

void sm_kernel_table_init(sm_kernel_table *table, sm_device *device, const sm_log *log,
                          sm_counters *counters) {
  *table = (sm_kernel_table){.device = device, .log = log, .counters = counters};
}

void sm_kernel_table_free(sm_kernel_table *table) {
  for (size_t i = 0; i < table->entries.len; i++) {
    sm_kernel_entry *entry = table->entries.items[i];
    if (entry->kernel) table->device->driver->release(table->device, entry->kernel);
    sm_free(table->device->allocator, entry, sizeof *entry);
  }
  sm_vec_free(table->device->allocator, &table->entries);
}

static const sm_kernel_entry *find(const sm_kernel_table *table, sm_hash hash) {
  for (size_t i = 0; i < table->entries.len; i++) {
    if (sm_hash_equal(table->entries.items[i]->hash, hash)) return table->entries.items[i];
  }
  return NULL;
}

static void log_compile(const sm_kernel_table *table, const sm_kir_kernel *ir) {
  if (!sm_log_on(table->log, SM_LOG_COMPILE)) return;
  sm_text text;
  sm_text_init(&text, table->device->allocator);
  sm_text_addf(&text, "[compile] %s for %s\n", ir->name, table->device->profile->name);
  sm_kir_print(&text, ir);
  sm_log_text(table->log, &text);
}

typedef smelt_status make_fn(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err);

static smelt_status make(sm_kernel_table *table, sm_kir_kernel *ir, make_fn *function, sm_kernel_entry *entry,
                         smelt_error *err) {
  SM_TRY(sm_kir_verify(ir, err));
  log_compile(table, ir);
  SM_TRY(function(table->device, ir, &entry->kernel, err));
  sm_count(&table->counters->kernels_compiled, 1);
  return SMELT_OK;
}

/* Makes the kernel and keeps the entry, if it is worth it. */
static smelt_status make_entry(sm_kernel_table *table, sm_kir_kernel *ir, make_fn *function,
                               const sm_kernel_entry *like, const sm_kernel_entry **out, smelt_error *err) {
  const sm_allocator *allocator = table->device->allocator;
  if (!sm_vec_reserve(allocator, &table->entries, 1)) return sm_error_memory(err, "a kernel");
  sm_kernel_entry *entry = sm_alloc(allocator, sizeof *entry);
  if (!entry) return sm_error_memory(err, "a kernel");
  *entry = *like;
  *out = entry;
  smelt_status status = make(table, ir, function, entry, err);
  if (status == SMELT_OK || status == SMELT_ERR_UNSUPPORTED)
    table->entries.items[table->entries.len++] = entry;
  else sm_free(allocator, entry, sizeof *entry);
  return status;
}

static smelt_status answer(const sm_kernel_entry *entry, smelt_error *err) {
  return entry->kernel ? SMELT_OK : sm_error_set(err, SMELT_ERR_UNSUPPORTED, "%s has no code", entry->name);
}

static void name_kernel(sm_kir_kernel *ir, const char *prefix, sm_kernel_entry *entry) {
  (void)snprintf(ir->name, sizeof ir->name, "%.36s_%08" PRIx32, prefix, (uint32_t)(entry->hash.lo >> 32));
  (void)snprintf(entry->name, sizeof entry->name, "%s", ir->name);
}

smelt_status sm_kernel_table_get(sm_kernel_table *table, sm_kir_kernel *ir, const char *prefix,
                                 bool interpreted, const sm_kernel_entry **out, smelt_error *err) {
  const sm_driver *driver = table->device->driver;
  sm_kernel_entry entry = {.hash = sm_kir_hash(ir)};
  /* What has no code may still be interpreted: that is another kernel. */
  if (interpreted) sm_hash_u64(&entry.hash, interpreted);
  *out = find(table, entry.hash);
  if (*out) {
    sm_kir_free(ir);
    return answer(*out, err);
  }
  name_kernel(ir, prefix, &entry);
  make_fn *function = interpreted ? driver->interpret : driver->compile;
  smelt_status status = make_entry(table, ir, function, &entry, out, err);
  if (status != SMELT_OK) sm_kir_free(ir);
  return status;
}
