/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/reduce_parts.h"

/* --- Work items ---------------------------------------------------------------------------- */

/* Takes the last factor off a number that is a product: its remainder is returned. */
static int32_t take_off(const sm_reduce_state *s, int32_t *product, int32_t factor) {
  int32_t remainder = op2(s, SM_KOP_FMOD, *product, factor);
  *product = op2(s, SM_KOP_TRUNC_DIV, *product, factor);
  return remainder;
}

static int32_t count_strips(const sm_reduce_state *s) {
  int32_t above = op_number(s, SM_KOP_ADD, s->inner, s->form->strip - 1);
  return op_number(s, SM_KOP_TRUNC_DIV, above, s->form->strip);
}

/* The item's group, and its range: of all of them if they are no items. */
static void find_range(sm_reduce_state *s, int32_t *rest) {
  s->begin = number(s, 0);
  s->end = s->reduced;
  if (s->form->stage != SM_REDUCE_PARTIAL) return;
  s->group = take_off(s, rest, s->groups);
  int64_t elements = (int64_t)s->form->group * SM_TREE_BLOCK;
  s->begin = op_number(s, SM_KOP_MUL, s->group, elements);
  s->end = op2(s, SM_KOP_MIN, op_number(s, SM_KOP_ADD, s->begin, elements), s->reduced);
}

/* Tasks and their memory are those of the pass. */
static sm_reduce_state pass_of(const sm_reduce_state *s, int pass) {
  sm_reduce_state own = *s;
  int first = 0;
  while (first < s->n_all && s->all[first].pass < pass) first++;
  own.pass = pass;
  own.tasks = s->all + first;
  own.n = 0;
  while (first + own.n < s->n_all && own.tasks[own.n].pass == pass) own.n++;
  own.slots = s->memory->slots + first;
  own.lanes = s->memory->lanes + first;
  own.partial = s->memory->partial + first;
  return own;
}

static void find_row(sm_reduce_state *s, int32_t outer) {
  s->outer = outer;
  s->rows_before = op2(s, SM_KOP_MUL, outer, s->reduced);
  if (s->body->row) s->body->row(s->body->user, s->k, outer, s->ahead);
}

/* Of some rows at once, whose parts are there. */
static void finish_band(sm_reduce_state *s, int32_t first, int32_t end) {
  int32_t row = sm_kir_for(s->k, first, end, SM_TREE_LANES);
  s->place = op2(s, SM_KOP_SUB, row, first);
  find_row(s, row);
  sm_reduce_finish_rows(s, op_number(s, SM_KOP_MIN, op2(s, SM_KOP_SUB, end, row), SM_TREE_LANES));
  sm_kir_end(s->k);
}

static void run_band(sm_reduce_state *s, int32_t first, int32_t end) {
  int32_t row = sm_kir_for(s->k, first, end, 1);
  s->place = op2(s, SM_KOP_SUB, row, first);
  find_row(s, row);
  sm_reduce_run_row(s);
  sm_kir_end(s->k);
  if (s->n && sm_reduce_joins_rows(s->form)) finish_band(s, first, end);
}

/* The item that a thread of a team works on: each result's threads are neighbours with rows, so
 * that they read neighbours, and with columns those of neighbouring strips. What is beyond the
 * last item is the last one once more, of which nothing is read and stored. */
static int32_t join_team(sm_reduce_state *s, int32_t first, int32_t end, int32_t *is_there) {
  int abreast = s->form->abreast, shares = s->form->threads / abreast;
  int32_t member = sm_kir_member(s->k), by = number(s, s->form->columns ? abreast : shares);
  int32_t major = op2(s, SM_KOP_TRUNC_DIV, member, by), minor = op2(s, SM_KOP_FMOD, member, by);
  s->result = s->form->columns ? minor : major;
  s->share = s->form->columns ? major : minor;
  int32_t own = op2(s, SM_KOP_ADD, first, s->result);
  *is_there = op2(s, SM_KOP_LT, own, end);
  int32_t writes = op2(s, SM_KOP_AND, *is_there, op_number(s, SM_KOP_EQ, s->share, 0));
  s->writes = convert(s, SM_KOP_CAST, writes, SMELT_I64);
  return op2(s, SM_KOP_MIN, own, op_number(s, SM_KOP_SUB, end, 1));
}

/* All passes over an item, or over the rows up to `end`; of stages their own one. */
static void run_passes(const sm_reduce_state *s, int32_t item, int32_t end, int32_t number_of_strip) {
  bool whole = s->form->stage == SM_REDUCE_WHOLE;
  for (int pass = whole ? 0 : s->form->pass; pass < (whole ? s->form->passes : s->form->pass + 1); pass++) {
    sm_reduce_state own = pass_of(s, pass);
    if (s->form->threads) sm_reduce_run_team(&own, number_of_strip);
    else if (s->form->columns) sm_reduce_run_strip(&own, number_of_strip);
    else if (sm_reduce_has_bands(s->form)) run_band(&own, item, end);
    else sm_reduce_run_row(&own);
  }
}

static void run_items(sm_reduce_state *s) {
  int32_t strips = count_strips(s), begin = sm_kir_chunk_begin(s->k), end = sm_kir_chunk_end(s->k);
  bool bands = sm_reduce_has_bands(s->form);
  int items = bands ? s->form->strip : s->form->abreast;
  int32_t item = sm_kir_for(s->k, begin, end, items), is_there = SM_KIR_NONE;
  if (bands) end = op2(s, SM_KOP_MIN, op_number(s, SM_KOP_ADD, item, items), end);
  if (s->form->threads) item = join_team(s, item, end, &is_there);
  int32_t number_of_strip = s->form->columns ? take_off(s, &item, strips) : SM_KIR_NONE;
  find_range(s, &item);
  if (s->form->threads && !s->form->whole_blocks) s->end = choose(s, is_there, s->end, s->begin);
  if (!bands) find_row(s, item);
  s->place = number(s, 0);
  run_passes(s, item, end, number_of_strip);
  sm_kir_end(s->k);
  if (s->form->streaming) sm_kir_fence(s->k);
}

/* --- The kernel's memory ---------------------------------------------------------------------- */

/* A team has vectors of whole strips. */
static int add_local(const sm_reduce_state *s, smelt_dtype dtype, int n) {
  if (!s->form->threads) return sm_kir_add_local(s->k, dtype, (uint32_t)n);
  int buffer = sm_kir_add_shared(s->k, dtype, (uint32_t)n);
  sm_kir_align_buffer(s->k, buffer);
  return buffer;
}

smelt_dtype sm_reduce_part_dtype(const sm_reduce_task *task, int field) {
  if (field == SM_PART_VALUE) return task->dtype;
  if (field == SM_PART_INDEX) return sm_reduction_gives_index(task->reduction) ? SMELT_I64 : SMELT_DTYPE_NONE;
  return sm_reduction_is_centered(task->reduction) ? task->dtype : SMELT_DTYPE_NONE;
}

/* For n parts, in groups of which each has one count. */
static sm_part_buffers add_locals(const sm_reduce_state *s, int t, int n, int group) {
  sm_part_buffers b = sm_no_part;
  for (int f = 0; f < SM_PART_FIELDS; f++) {
    smelt_dtype dtype = sm_reduce_part_dtype(&s->all[t], f);
    if (dtype != SMELT_DTYPE_NONE) b.fields[f] = add_local(s, dtype, f == SM_PART_COUNT ? n / group : n);
  }
  return b;
}

static sm_part_buffers add_partials(const sm_reduce_state *s, int t) {
  bool written = s->form->stage == SM_REDUCE_PARTIAL;
  sm_part_buffers b = sm_no_part;
  for (int f = 0; f < SM_PART_FIELDS; f++) {
    smelt_dtype dtype = sm_reduce_part_dtype(&s->all[t], f);
    if (dtype == SMELT_DTYPE_NONE) continue;
    b.fields[f] = sm_kir_add_buffer(s->k, dtype, written);
    if (s->form->threads) sm_kir_align_buffer(s->k, b.fields[f]);
  }
  return b;
}

static smelt_dtype result_dtype(const sm_reduce_state *s, int t) {
  return sm_reduction_gives_index(s->all[t].reduction) ? SMELT_I64 : s->all[t].dtype;
}

static void add_buffers(const sm_reduce_state *s) {
  bool combines = s->form->stage == SM_REDUCE_COMBINE;
  for (int t = 0; t < s->n_all; t++) s->memory->partial[t] = add_partials(s, t);
  for (int t = 0; t < s->n_all && sm_stores_results(s); t++)
    s->memory->results[t] = sm_kir_add_buffer(s->k, result_dtype(s, t), combines);
}

static void add_scratch(const sm_reduce_state *s) {
  const sm_reduce_form *form = s->form;
  for (int t = 0; t < s->n_all; t++) {
    int columns = sm_slot_columns(form);
    bool counts = !form->threads || !form->one_leaf;
    if (form->stage != SM_REDUCE_WHOLE && s->all[t].pass != form->pass) continue;
    if (counts) s->memory->slots[t] = add_locals(s, t, form->levels * columns, columns);
    if (form->threads)
      s->memory->lanes[t] = add_locals(s, t, sm_reduce_team_places(form) * form->strip * form->abreast, 1);
    if (form->wide) s->memory->lanes[t] = add_locals(s, t, sm_reduce_sheet(form), 1);
    if (sm_reduce_joins_rows(form)) s->memory->lanes[t] = add_locals(s, t, form->strip, 1);
    if (form->stage == SM_REDUCE_WHOLE && sm_stores_results(s))
      s->memory->results[t] = sm_kir_add_local(s->k, result_dtype(s, t), (uint32_t)form->strip);
  }
  if (s->body->scratch) s->body->scratch(s->body->user, s->k);
}

static int32_t add_size(const sm_reduce_state *s) { return sm_kir_size(s->k, sm_kir_add_size(s->k)); }

void sm_reduce_kernel(sm_kir_kernel *k, const sm_reduce_task *tasks, int n_tasks, const sm_reduce_form *form,
                      const sm_reduce_body *body) {
  sm_reduce_memory of_tasks;
  sm_reduce_state s = {
      .k = k, .all = tasks, .n_all = n_tasks, .form = form, .body = body, .memory = &of_tasks};
  k->threads = form->threads;
  k->grain = form->threads ? form->abreast : 0;
  if (form->stage != SM_REDUCE_WHOLE) add_buffers(&s);
  add_scratch(&s);
  s.reduced = add_size(&s);
  s.inner = add_size(&s);
  s.groups = add_size(&s);
  s.ahead = add_size(&s);
  run_items(&s);
}
