/* SPDX-License-Identifier: Apache-2.0
 *
 * Forms of reductions: what of the extents and the device a kernel depends on. */
#include "launch/reduce_forms.h"

enum {
  MAX_LEVELS = 64,         /* more than the binary digits of any number of leaves */
  MAX_STRIP = 1024,        /* columns: some pages of a row are read one after another */
  SLOT_BYTES = 40 * 1024,  /* of all slots of a kernel, which lie on the thread's stack */
  GROUP_BLOCKS = 64,       /* of rows; the more columns, the fewer */
  FEW_ROWS = 8,            /* too few to be worth more than reading them once */
  FEW_ITEMS = 64,          /* too few to be shared out evenly */
  MANY_ELEMENTS = 1 << 16, /* worth a second stage */
  MAX_KEEP = 8192,         /* elements of a row in scratch memory: of f32 some in the first-level cache */
  MAX_RESIDENT = 1 << 17,  /* elements of a row that stay in half a second-level cache */
  LONG_ROW = 1 << 18,      /* elements of which little is left in such a cache */
  MANY_BETWEEN = 1 << 20,  /* elements that a processor's share of all caches does not hold */
  ACROSS = 768,            /* elements of rows taken across: less than a page of each array in use */
  BAND = 1024,             /* elements of a band: those that the processor works on at once, and some more */
  FULL_ROW = SM_TREE_LANES - 1, /* elements of which a vector is full, or nearly so */
  SHORT_ROW = 32,               /* elements with indices, of which loading each alone takes no longer */
  FEW_COLUMNS = 64,             /* of a strip: pieces of rows that caches read as fast as whole ones */
  FEW_ELEMENTS = 1 << 19,       /* those that second-level caches hold */
  MANY_COLUMNS = 128,           /* enough for pieces of a row */
  MANY_ROWS = 64,               /* to fill vectors with */
  AHEAD = 2048,                 /* elements from those at work to those that are asked for */
};

/* Of columns side by side, so that longer pieces of each row are read at once. Measured
 * for f32: 1.05 times plain reading, 1.6 times with one. */
enum { VECTORS = 4 };

int64_t sm_reduce_groups(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  return sm_ceil_div(extents->reduced, (int64_t)form->group * SM_TREE_BLOCK);
}

static int bit_length(int64_t n) {
  int bits = 0;
  for (; n > 0; n /= 2) bits++;
  return bits;
}

/* Of a column; a count is all columns'. */
static int part_bytes(const sm_reduce_task *tasks, int n_tasks) {
  int bytes = 0;
  for (int t = 0; t < n_tasks; t++) {
    for (int field = 0; field < SM_PART_COUNT; field++) {
      smelt_dtype dtype = sm_reduce_part_dtype(&tasks[t], field);
      bytes += dtype == SMELT_DTYPE_NONE ? 0 : (int)smelt_dtype_size(dtype);
    }
  }
  return bytes;
}

static bool any_is_centered(const sm_reduce_task *tasks, int n_tasks) {
  bool any = false;
  for (int t = 0; t < n_tasks; t++) any = any || sm_reduction_is_centered(tasks[t].reduction);
  return any;
}

static bool any_gives_index(const sm_reduce_task *tasks, int n_tasks) {
  bool any = false;
  for (int t = 0; t < n_tasks; t++) any = any || sm_reduction_gives_index(tasks[t].reduction);
  return any;
}

int sm_reduce_lanes_of(int bytes, const sm_profile *profile) {
  return profile->vector_bytes < bytes ? 1 : profile->vector_bytes / bytes;
}

/* Vectors of the widest elements that are combined. */
static int choose_vector(const sm_reduce_task *tasks, int n_tasks, const sm_profile *profile) {
  int size = 1;
  for (int t = 0; t < n_tasks; t++) {
    int own = (int)smelt_dtype_size(tasks[t].dtype);
    size = own > size ? own : size;
  }
  return sm_reduce_lanes_of(size, profile);
}

/* Leaves of an item's counter, of nothing one. Lengths that differ little share a kernel. */
static int choose_levels(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  if (extents->across) return SM_TREE_LANES;
  int64_t blocks = sm_ceil_div(extents->reduced, SM_TREE_BLOCK), leaves = blocks * SM_TREE_LANES;
  if (form->stage == SM_REDUCE_PARTIAL && blocks > form->group) leaves = (int64_t)form->group * SM_TREE_LANES;
  if (form->stage == SM_REDUCE_COMBINE) leaves = sm_reduce_groups(form, extents);
  int levels = leaves ? bit_length(leaves) : 1;
  return levels + levels % 2;
}

int sm_reduce_choose_group(int64_t inner) {
  int group = GROUP_BLOCKS;
  while (group > 1 && inner > GROUP_BLOCKS / group) group /= 2;
  return group;
}

static bool fits(const sm_reduce_form *form, int strip, int bytes) {
  return (int64_t)(form->across ? form->width : strip) * form->levels * bytes <= SLOT_BYTES;
}

/* Powers of two. Where there are few columns or slots are large even vectors are cut, down to one that all
 * columns fit in. */
static void choose_strip(sm_reduce_form *form, int bytes, int64_t inner, int most) {
  while (form->across && form->width > 1 && !fits(form, 0, bytes)) form->width /= 2;
  form->strip = most;
  while (form->strip > 1 && (form->strip / 2 >= inner || !fits(form, form->strip, bytes))) form->strip /= 2;
  while (form->width > form->vector && form->width > inner) form->width /= 2;
  while (form->width > 1 && (form->width > form->strip || form->width / 2 >= inner)) form->width /= 2;
  if (form->vector > form->width) form->vector = form->width;
}

bool sm_reduce_is_resident(const sm_reduce_form *form) {
  return form->passes > 1 && form->stage == SM_REDUCE_WHOLE;
}

/* Elements of a row, or of all rows of a strip. Powers of two, so that lengths that differ little
 * share a kernel. */
static int choose_keep(const sm_reduce_form *form, int64_t reduced) {
  int keep = SM_TREE_BLOCK;
  int row = form->wide ? form->wide : form->strip;
  if (!sm_reduce_is_resident(form) || reduced > MAX_KEEP / row) return 0;
  while (keep < reduced * row) keep *= 2;
  return keep;
}

/* Rows of a band. */
static int choose_band(const sm_reduce_form *form, int64_t reduced) {
  int band = 1;
  while (sm_reduce_is_resident(form) && reduced > 0 && 2 * reduced * band <= BAND) band *= 2;
  return band;
}

/* As many as a row has whole ones of. */
static int choose_side(const sm_reduce_form *form, int64_t reduced) {
  int side = sm_reduce_is_resident(form) && !form->columns ? SM_REDUCE_SIDE : 1;
  while (side > 1 && reduced % ((int64_t)side * SM_TREE_BLOCK) != 0) side /= 2;
  return side;
}

/* Whether few columns are taken wide, if parts are values alone. Of a form that
 * is so far that of others. */
static bool is_wide(const sm_reduce_form *form, const sm_reduce_task *tasks, int n_tasks,
                    const sm_reduce_extents *extents) {
  int64_t inner = extents->inner, columns = 2 * (inner > SM_TREE_LANES ? inner : SM_TREE_LANES);
  int64_t scratch = (columns * form->levels + SM_TREE_LANES * (inner + 1)) * part_bytes(tasks, n_tasks);
  return extents->dense && form->stage != SM_REDUCE_COMBINE && inner < MANY_COLUMNS &&
         !any_gives_index(tasks, n_tasks) && !any_is_centered(tasks, n_tasks) && scratch <= SLOT_BYTES;
}

/* One strip, of whole vectors. */
static void choose_wide(sm_reduce_form *form, int64_t inner) {
  form->wide = (int)inner;
  if (form->vector > SM_TREE_LANES) form->vector = SM_TREE_LANES;
  form->width = form->strip = form->vector;
  while (form->strip < inner) form->strip *= 2;
}

/* Columns of a strip: enough to read some pages of a row, few enough for their rows to stay. Where all
 * elements are in the caches anyway, so few that scratch memory holds them. */
static int most_columns(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  int most = MAX_STRIP;
  bool in_caches = extents->outer * extents->reduced * extents->inner <= FEW_ELEMENTS;
  bool keeps = sm_reduce_is_resident(form) && in_caches && extents->reduced <= MAX_KEEP / FEW_COLUMNS;
  while (keeps && most * extents->reduced > MAX_KEEP) most /= 2;
  while (extents->across && most > form->width && most * extents->reduced > ACROSS) most /= 2;
  return most;
}

sm_reduce_form sm_reduce_choose(const sm_reduce_task *tasks, int n_tasks, int passes, int pass,
                                const sm_reduce_extents *extents, sm_reduce_stage stage,
                                const sm_profile *profile) {
  bool columns = extents->inner > 1 || extents->across;
  sm_reduce_form form = {.stage = stage,
                         .passes = passes,
                         .pass = pass,
                         .columns = columns || stage == SM_REDUCE_COMBINE,
                         .across = extents->across ? (int)extents->reduced : 0,
                         .width = 1,
                         .vector = 1,
                         .strip = 1,
                         .abreast = 1,
                         .shuffle = 1,
                         .side = 1};
  form.group = sm_reduce_choose_group(extents->inner);
  if (sm_reduce_is_worth_team(&form, extents, profile)) {
    sm_reduce_choose_team(&form, extents, part_bytes(tasks, n_tasks), choose_vector(tasks, n_tasks, profile),
                          profile);
    return form;
  }
  form.whole_blocks = extents->reduced % SM_TREE_BLOCK == 0;
  form.levels = form.columns ? choose_levels(&form, extents) : MAX_LEVELS;
  form.side = choose_side(&form, extents->reduced);
  form.one_leaf =
      !form.columns && extents->reduced > 0 && extents->reduced <= (int64_t)form.side * SM_TREE_BLOCK;
  if (!form.columns) {
    form.strip = choose_band(&form, extents->reduced);
    form.keep = choose_keep(&form, extents->reduced);
    return form;
  }
  form.vector = choose_vector(tasks, n_tasks, profile);
  form.width = (profile->chunked && !form.across ? VECTORS : 1) * form.vector;
  if (profile->chunked && is_wide(&form, tasks, n_tasks, extents)) {
    choose_wide(&form, extents->inner);
  } else { /* Threads take a vector each. */
    choose_strip(&form, part_bytes(tasks, n_tasks), extents->inner,
                 profile->chunked ? most_columns(&form, extents) : form.width);
  }
  form.whole_pieces = extents->inner % form.width == 0;
  form.keep = choose_keep(&form, extents->reduced);
  return form;
}

bool sm_reduce_wants_across(const sm_reduce_task *tasks, int n_tasks, const sm_reduce_extents *extents,
                            const sm_profile *profile) {
  if (extents->inner != 1 || extents->reduced == 0) return false;
  if (extents->reduced < FULL_ROW) return true;
  return profile->chunked && any_gives_index(tasks, n_tasks) && extents->reduced <= SHORT_ROW &&
         extents->outer >= MANY_ROWS;
}

sm_reduce_extents sm_reduce_turned(const sm_reduce_extents *extents) {
  return (sm_reduce_extents){
      .outer = 1, .reduced = extents->reduced, .inner = extents->outer, .across = true};
}

bool sm_reduce_wants_stages(const sm_reduce_extents *extents, int passes, const sm_profile *profile) {
  if (sm_reduce_runs_teams(profile))
    return sm_reduce_are_few_teams(extents, passes) &&
           extents->outer * extents->reduced * extents->inner > MANY_ELEMENTS;
  int64_t items = extents->outer * sm_ceil_div(extents->inner, MAX_STRIP);
  bool fits_caches = extents->reduced * extents->inner <= MAX_RESIDENT;
  if (passes > 1 && fits_caches && extents->outer >= FEW_ROWS) return false;
  return items < FEW_ITEMS && extents->reduced > (int64_t)GROUP_BLOCKS * SM_TREE_BLOCK &&
         extents->outer * extents->reduced * extents->inner > MANY_ELEMENTS;
}

/* Elements of an item between passes, or of all items where stages are passes. */
static int64_t count_between(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  if (form->stage != SM_REDUCE_WHOLE) return extents->outer * extents->reduced * extents->inner;
  bool narrow = form->columns && extents->inner < form->strip;
  return extents->reduced * (narrow ? extents->inner : form->strip);
}

bool sm_reduce_rereads(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  bool row = form->stage == SM_REDUCE_WHOLE && !form->columns;
  return form->passes > 1 && count_between(form, extents) > (row ? LONG_ROW : MANY_BETWEEN);
}

int64_t sm_reduce_partials(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  return extents->outer * sm_reduce_groups(form, extents) * extents->inner;
}

int64_t sm_reduce_work_items(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  int64_t groups = form->stage == SM_REDUCE_PARTIAL ? sm_reduce_groups(form, extents) : 1;
  return extents->outer * groups * sm_ceil_div(extents->inner, form->strip);
}

void sm_reduce_size_values(const sm_reduce_form *form, const sm_reduce_extents *extents,
                           int64_t values[SM_REDUCE_SIZES]) {
  values[SM_REDUCE_SIZE_REDUCED] = extents->reduced;
  values[SM_REDUCE_SIZE_INNER] = extents->inner;
  values[SM_REDUCE_SIZE_GROUPS] = sm_reduce_groups(form, extents);
  int64_t ahead = extents->reduced ? sm_ceil_div(AHEAD, extents->reduced) : 1;
  values[SM_REDUCE_SIZE_AHEAD] = ahead > form->strip ? ahead : form->strip;
}
