/* SPDX-License-Identifier: Apache-2.0
 *
 * Results as JSON and as a table. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "bench.h"

/* Too many rounds have been disturbed. */
static bool is_noisy(const bench_result *r) { return r->times.p90 > 1.5 * r->times.median; }

/* Other processes have used so much that figures cannot be trusted. */
static bool is_busy(const bench_result *r) { return r->others > 0.06; }

/* --- JSON ------------------------------------------------------------------------------------ */

/* What is not known is left out. */

static void add_integer(sm_text *text, const char *name, int64_t value) {
  if (value >= 0) sm_json_integer(text, name, value);
}

static void add_number(sm_text *text, const char *name, double value) {
  if (!isnan(value)) sm_json_number(text, name, value);
}

void bench_report_json(sm_text *text, const bench_case *what, const bench_options *options,
                       const bench_result *r) {
  sm_json_open(text, NULL, '{');
  sm_json_string(text, "case", what->name);
  sm_json_string(text, "device", r->device);
  sm_json_string(text, "dtype", "f32");
  sm_json_name(text, "shape");
  sm_shape_print(text, &r->shape);
  add_integer(text, "threads", options->threads);
  add_integer(text, "rounds", options->rounds);
  add_number(text, "us", r->times.median);
  add_number(text, "p10", r->times.p10);
  add_number(text, "p90", r->times.p90);
  add_integer(text, "bytes", r->bytes);
  if (r->floor) sm_json_string(text, "floor", r->floor);
  add_number(text, "floor_us", r->floor_us);
  add_number(text, "ratio", r->ratio);
  add_integer(text, "launches", r->launches);
  add_integer(text, "kernels", r->kernels);
  add_number(text, "cold_ms", r->cold_ms);
  add_number(text, "unfused_us", r->unfused_us);
  add_integer(text, "unfused_bytes", r->unfused_bytes);
  add_integer(text, "unfused_launches", r->unfused_launches);
  add_number(text, "speedup", r->speedup);
  add_number(text, "record_ns", r->record_ns);
  add_integer(text, "allocations", r->allocations);
  add_number(text, "twenty_ms", r->twenty_ms);
  if (r->llvm_mapped >= 0) sm_json_bool(text, "llvm_mapped", r->llvm_mapped);
  sm_json_bool(text, "noisy", is_noisy(r));
  add_number(text, "others", r->others);
  sm_json_bool(text, "equal_to_ref", !r->differs);
  sm_json_close(text, '}');
  sm_text_add(text, "\n");
}

/* --- The table ---------------------------------------------------------------------------------- */

static void add_cell(sm_text *text, int width, const char *value) {
  sm_text_addf(text, "  %*s", width, value);
}

static void add_fixed(sm_text *text, int width, int precision, double value, const char *unit) {
  char digits[48], cell[64] = "-";
  (void)sm_format_f(digits, sizeof digits, precision, value);
  if (!isnan(value)) (void)snprintf(cell, sizeof cell, "%s%s", digits, unit);
  add_cell(text, width, cell);
}

/* Three digits or more. */
static void add_time(sm_text *text, int width, double us) {
  static const char *const units[] = {" ns", " us", " ms"};
  int unit = us < 1 ? 0 : us < 1e3 ? 1 : 2;
  double value = unit == 0 ? us * 1e3 : unit == 1 ? us : us / 1e3;
  add_fixed(text, width, value < 10 ? 2 : value < 100 ? 1 : 0, value, units[unit]);
}

static void add_count(sm_text *text, int width, int64_t value) {
  add_fixed(text, width, 0, value < 0 ? NAN : (double)value, "");
}

static void add_bytes(sm_text *text, int width, int64_t bytes) {
  const char *const units[] = {" B", " KiB", " MiB", " GiB"};
  int unit = 0;
  double value = bytes < 0 ? NAN : (double)bytes;
  for (; value >= 10240 && unit < 3; unit++) value /= 1024;
  add_fixed(text, width, 0, value, units[unit]);
}

enum { NAME = 14, TIME = 8, FLOOR = 9, SMALL = 8 };

void bench_report_head(sm_text *text) {
  sm_text_addf(text, "%-*s", NAME, "case");
  for (const char *const *column = (const char *const[]){"time", "p10", "p90", NULL}; *column; column++)
    add_cell(text, TIME, *column);
  add_cell(text, TIME, "floor");
  add_cell(text, FLOOR, "of");
  for (const char *const *column = (const char *const[]){"ratio", "launches", "kernels", "bytes", "first",
                                                         "unfused", "speedup", NULL};
       *column; column++)
    add_cell(text, SMALL, *column);
  sm_text_add(text, "\n");
}

static void add_note(sm_text *text, const char *name, double us) {
  if (isnan(us)) return;
  sm_text_addf(text, "  %s", name);
  add_time(text, 0, us);
}

static void add_notes(sm_text *text, const bench_result *r) {
  if (is_noisy(r)) sm_text_add(text, "  noisy");
  if (is_busy(r)) sm_text_addf(text, "  others %d %%", (int)(100 * r->others));
  add_note(text, "record", r->record_ns / 1e3);
  add_note(text, "twenty", r->twenty_ms * 1e3);
  if (r->allocations > 0) sm_text_addf(text, "  %" PRId64 " allocations", r->allocations);
  if (r->llvm_mapped >= 0) sm_text_add(text, r->llvm_mapped ? "  with libLLVM" : "  without libLLVM");
  if (r->differs) sm_text_add(text, "  WRONG");
  sm_text_add(text, "\n");
}

void bench_report_row(sm_text *text, const bench_case *what, const bench_result *r) {
  sm_text_addf(text, "%-*s", NAME, what->name);
  add_time(text, TIME, r->times.median);
  add_time(text, TIME, r->times.p10);
  add_time(text, TIME, r->times.p90);
  add_time(text, TIME, r->floor_us);
  add_cell(text, FLOOR, r->floor ? r->floor : "-");
  add_fixed(text, SMALL, 2, r->ratio, "");
  add_count(text, SMALL, r->launches);
  add_count(text, SMALL, r->kernels);
  add_bytes(text, SMALL, r->bytes);
  add_time(text, SMALL, r->cold_ms * 1e3);
  add_time(text, SMALL, r->unfused_us);
  add_fixed(text, SMALL, 2, r->speedup, "");
  add_notes(text, r);
}

void bench_report_legend(sm_text *text, const bench_case *const *cases, const bench_options *options) {
  sm_text_add(text, "\n");
  for (; *cases; cases++) sm_text_addf(text, "%-*s  %s\n", NAME, (*cases)->name, (*cases)->doc);
  sm_text_addf(
      text,
      "\n"
      "time      median of %d rounds, with %d thread(s). Of a program: recording, computing, dropping the\n"
      "          result. Of compiling: what a first run takes longer than a second one. p10, p90 are\n"
      "          percentiles; `noisy` says that p90 is more than 1.5 times the median, `others` how much\n"
      "          of all processors other programs have used: above 6 %% distrust the figures\n"
      "floor     what a loop written by hand needs for the same arrays (rNwM: N read, M written) or the\n"
      "          same arithmetic; of cold and warm, a process that does nothing. Measured in turn\n"
      "ratio     time / floor, median over rounds: with 1, nothing is left to gain\n"
      "launches  of one run; bytes, what they read and write; kernels, compiled in the first run\n"
      "first     the first run in a new context, compilation included\n"
      "unfused   the same program with fusion off, measured in turn; speedup, what fusion gains\n"
      "record    behind a row: what recording one operation takes; twenty: that many programs\n",
      options->rounds, options->threads);
}
