/* SPDX-License-Identifier: Apache-2.0
 *
 * Forms of reductions: what of the extents and the device a kernel depends on. */
#include "launch/reduce_skeleton.h"

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

/* Of teams. A few hundred of them fill a large device, two of which then have a processor. */
enum {
  TEAM_THREADS = 256,        /* at most */
  FEW_THREADS = 64,          /* too few for one team, if there are more results */
  TEAM_BYTES = 16 * 1024,    /* of shared memory: a processor has that for each of a dozen teams */
  MOST_KEPT_BYTES = 1 << 16, /* the same, that some teams have, which have more threads */
  TEAM_COLUMNS = 64,         /* about as many as a team of columns has */
  MOST_STRIPS = 16,          /* of vectors of 16 bytes: neighbours read 256 bytes */
  LEAST_ELEMENTS = 32,       /* a single thread is done with fewer */
  LEAST_PARTIALS = 8,        /* the same */
  FEW_TEAMS = 256,           /* too few for a large device */
  FEW_RESIDENT_TEAMS = 64,   /* the same, of those that find their rows in the caches */
};

/* Of columns side by side, so that longer pieces of each row are read at once. Measured
 * for f32: 1.05 times plain reading, 1.6 times with one. */
enum { VECTORS = 4 };

static int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t groups_of(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  return round_up(extents->reduced, (int64_t)form->group * SM_TREE_BLOCK);
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

static int lanes_of(int bytes, const sm_profile *profile) {
  return profile->vector_bytes < bytes ? 1 : profile->vector_bytes / bytes;
}

/* Vectors of the widest elements that are combined. */
static int choose_vector(const sm_reduce_task *tasks, int n_tasks, const sm_profile *profile) {
  int size = 1;
  for (int t = 0; t < n_tasks; t++) {
    int own = (int)smelt_dtype_size(tasks[t].dtype);
    size = own > size ? own : size;
  }
  return lanes_of(size, profile);
}

/* Leaves of an item's counter, of nothing one. Lengths that differ little share a kernel. */
static int choose_levels(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  if (extents->across) return SM_TREE_LANES;
  int64_t blocks = round_up(extents->reduced, SM_TREE_BLOCK), leaves = blocks * SM_TREE_LANES;
  if (form->stage == SM_REDUCE_PARTIAL && blocks > form->group) leaves = (int64_t)form->group * SM_TREE_LANES;
  if (form->stage == SM_REDUCE_COMBINE) leaves = groups_of(form, extents);
  int levels = leaves ? bit_length(leaves) : 1;
  return levels + levels % 2;
}

/* About as many elements for any number of columns. */
static int choose_group(int64_t inner) {
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

/* Whether an item makes several passes, of which all but the first find the caches filled. */
static bool is_resident(const sm_reduce_form *form) {
  return form->passes > 1 && form->stage == SM_REDUCE_WHOLE;
}

/* Elements of a row, or of all rows of a strip. Powers of two, so that lengths that differ little
 * share a kernel. */
static int choose_keep(const sm_reduce_form *form, int64_t reduced) {
  int keep = SM_TREE_BLOCK;
  int row = form->wide ? form->wide : form->strip;
  if (!is_resident(form) || reduced > MAX_KEEP / row) return 0;
  while (keep < reduced * row) keep *= 2;
  return keep;
}

/* Rows of a band. */
static int choose_band(const sm_reduce_form *form, int64_t reduced) {
  int band = 1;
  while (is_resident(form) && reduced > 0 && 2 * band * reduced <= BAND) band *= 2;
  return band;
}

/* As many as a row has whole ones of. */
static int choose_side(const sm_reduce_form *form, int64_t reduced) {
  int side = is_resident(form) && !form->columns ? SM_REDUCE_SIDE : 1;
  while (side > 1 && reduced % ((int64_t)side * SM_TREE_BLOCK) != 0) side /= 2;
  return side;
}

/* Whether few columns are taken wide, if parts are values alone. Of a form that
 * is so far that of others. */
static bool is_wide(const sm_reduce_form *form, const sm_reduce_task *tasks, int n_tasks,
                    const sm_reduce_extents *extents) {
  int64_t inner = extents->inner, columns = inner > SM_TREE_LANES ? 2 * inner : 2 * SM_TREE_LANES;
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
  bool keeps = is_resident(form) && in_caches && extents->reduced <= MAX_KEEP / FEW_COLUMNS;
  while (keeps && most * extents->reduced > MAX_KEEP) most /= 2;
  while (extents->across && most > form->width && most * extents->reduced > ACROSS) most /= 2;
  return most;
}

static int log2_above(int64_t n) {
  int digits = 0;
  while (((int64_t)1 << digits) < n) digits++;
  return digits;
}

/* --- Teams ---------------------------------------------------------------------------------- */

/* What a round has one or some of: blocks, in COMBINE leaves. */
static int64_t count_needed(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  int64_t blocks = round_up(extents->reduced, SM_TREE_BLOCK);
  if (form->stage == SM_REDUCE_COMBINE) return groups_of(form, extents);
  return form->stage == SM_REDUCE_PARTIAL && blocks > form->group ? form->group : blocks;
}

/* The threads that one of them keeps busy. */
static int threads_of_one(const sm_reduce_form *form) {
  if (form->stage == SM_REDUCE_COMBINE) return 1;
  return form->columns ? SM_TREE_LANES : SM_TREE_LANES / form->vector;
}

static void set_round(sm_reduce_form *form, int n, int most) {
  int threads = threads_of_one(form) * n * form->abreast;
  form->parts = form->stage == SM_REDUCE_COMBINE ? n : n * SM_TREE_LANES;
  form->threads = threads < most ? threads : most;
}

/* A row's last vector, which is not whole, is worked on in memory. */
int sm_reduce_team_places(const sm_reduce_form *form) {
  bool is_shuffled = form->shuffle > 1 && form->whole_blocks;
  return is_shuffled ? form->threads / form->abreast / form->shuffle : form->parts;
}

static int64_t shared_bytes(const sm_reduce_form *form, int bytes) {
  int places = form->parts + (form->one_leaf ? 0 : form->levels);
  return (int64_t)bytes * places * form->abreast * form->strip;
}

/* As many blocks of a result as it has, or fit in; then results, so that there are some threads. Of
 * leaves a thread takes several if there are many. */
static int size_team(sm_reduce_form *form, int64_t needed, int64_t items, int most) {
  int n = 1, threads = threads_of_one(form);
  if (form->stage == SM_REDUCE_COMBINE) most *= SM_REDUCE_TEAM_LEAVES;
  while (n < needed && 2 * threads * n * form->abreast <= most) n *= 2;
  int few = most < FEW_THREADS ? most : FEW_THREADS;
  while (2 * threads * n * form->abreast <= few && form->abreast < items) form->abreast *= 2;
  return n;
}

/* Whether rounds and items come out even. */
static bool is_whole(const sm_reduce_form *form, const sm_reduce_extents *extents, int n) {
  int64_t round = (int64_t)n * SM_TREE_BLOCK, group = (int64_t)form->group * SM_TREE_BLOCK;
  bool groups =
      form->stage != SM_REDUCE_PARTIAL || extents->reduced <= group || extents->reduced % group == 0;
  return groups && extents->reduced % round == 0 && sm_reduce_work_items(form, extents) % form->abreast == 0;
}

static bool runs_teams(const sm_profile *profile) {
  return profile->shared_bytes >= TEAM_BYTES && profile->max_group >= SM_TREE_LANES;
}

static bool is_worth_team(const sm_reduce_form *form, const sm_reduce_extents *extents,
                          const sm_profile *profile) {
  bool combines = form->stage == SM_REDUCE_COMBINE;
  int64_t least = combines ? LEAST_PARTIALS : LEAST_ELEMENTS;
  return runs_teams(profile) && (combines ? groups_of(form, extents) : extents->reduced) >= least;
}

/* All elements of a round, if those of four bytes fit. */
static int choose_team_keep(const sm_reduce_form *form, const sm_profile *profile) {
  int keep = form->parts * SM_TREE_LANES * form->abreast * form->strip;
  bool has_room = profile->shared_bytes >= TEAM_BYTES + SM_REDUCE_KEPT_BYTES;
  int room = has_room ? (int)profile->shared_bytes - TEAM_BYTES : 0;
  bool fits = keep <= (room < MOST_KEPT_BYTES ? room : MOST_KEPT_BYTES) / (int)sizeof(float);
  return is_resident(form) && form->one_leaf && fits ? keep : 0;
}

/* All of a result's threads that can. A plane that is not whole has others to wait for. */
static int choose_shuffle(const sm_reduce_form *form, const sm_profile *profile) {
  int threads = form->threads / form->abreast;
  if (form->columns || form->threads < profile->shuffle || profile->shuffle < threads_of_one(form)) return 1;
  return threads < profile->shuffle ? threads : profile->shuffle;
}

static void choose_team_vector(sm_reduce_form *form, const sm_reduce_extents *extents, int vector) {
  form->vector = vector < SM_TREE_LANES ? vector : SM_TREE_LANES;
  while (form->columns && extents->inner % form->vector != 0) form->vector /= 2;
  if (form->columns) form->width = form->strip = form->vector;
}

/* Until its parts fit. A single strip of single columns always does. */
static int fit_team(sm_reduce_form *form, int n, int bytes, int most) {
  for (set_round(form, n, most); shared_bytes(form, bytes) > TEAM_BYTES; set_round(form, n, most)) {
    if (form->abreast > 1) form->abreast /= 2;
    else if (n > 1) n /= 2;
    else form->width = form->strip = form->vector /= 2;
  }
  return n;
}

/* A power of two, as parts are shared out evenly. */
static int most_threads(const sm_profile *profile) {
  int most = 1;
  while (2 * most <= profile->max_group && 2 * most <= TEAM_THREADS) most *= 2;
  return most;
}

/* All that a team's form has. */
static void choose_team(sm_reduce_form *form, const sm_reduce_extents *extents, int bytes, int vector,
                        const sm_profile *profile) {
  int most = most_threads(profile);
  choose_team_vector(form, extents, vector);
  int64_t strips = extents->inner / form->strip, needed = count_needed(form, extents);
  if (form->columns) form->abreast = 1 << log2_above(strips < MOST_STRIPS ? strips : MOST_STRIPS);
  while (form->abreast * threads_of_one(form) > most) form->abreast /= 2;
  form->levels = log2_above(needed + 1);
  int n = fit_team(form, size_team(form, needed, sm_reduce_work_items(form, extents), most), bytes, most);
  form->one_leaf = needed <= n;
  form->whole_blocks = form->stage != SM_REDUCE_COMBINE && is_whole(form, extents, n);
  form->whole_pieces = true;
  form->aligned = form->columns || extents->reduced % form->vector == 0;
  form->keep = choose_team_keep(form, profile);
  form->shuffle = choose_shuffle(form, profile);
}

/* Threads that wait for memory read whole vectors of it, of halves twice as many as they combine at once.
 * What is kept is combined elements: of twice as many neighbours would wait for each other. */
static void choose_waiting_team(sm_reduce_form *form, const sm_reduce_extents *extents, int bytes, int vector,
                                const sm_profile *profile) {
  enum { NARROWEST = 2 };
  sm_reduce_form narrow = *form;
  int size = extents->bytes > NARROWEST ? extents->bytes : NARROWEST, wide = lanes_of(size, profile);
  bool reads = form->stage != SM_REDUCE_COMBINE && extents->bytes && wide > vector;
  choose_team(form, extents, bytes, reads ? wide : vector, profile);
  if (!reads || !form->keep) return;
  *form = narrow;
  choose_team(form, extents, bytes, vector, profile);
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
  form.group = choose_group(extents->inner);
  if (is_worth_team(&form, extents, profile)) {
    choose_waiting_team(&form, extents, part_bytes(tasks, n_tasks), choose_vector(tasks, n_tasks, profile),
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

/* Of teams that make whole results, and find their rows in the caches if they are no columns. */
static bool are_few_teams(const sm_reduce_extents *extents, int passes) {
  int64_t teams = extents->outer * round_up(extents->inner, TEAM_COLUMNS);
  bool resident = passes > 1 && extents->inner == 1;
  int64_t group = (int64_t)choose_group(extents->inner) * SM_TREE_BLOCK;
  return teams < (resident ? FEW_RESIDENT_TEAMS : FEW_TEAMS) && extents->reduced > group;
}

bool sm_reduce_wants_stages(const sm_reduce_extents *extents, int passes, const sm_profile *profile) {
  if (runs_teams(profile))
    return are_few_teams(extents, passes) &&
           extents->outer * extents->reduced * extents->inner > MANY_ELEMENTS;
  int64_t items = extents->outer * round_up(extents->inner, MAX_STRIP);
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
  return extents->outer * groups_of(form, extents) * extents->inner;
}

int64_t sm_reduce_work_items(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  int64_t groups = form->stage == SM_REDUCE_PARTIAL ? groups_of(form, extents) : 1;
  return extents->outer * groups * round_up(extents->inner, form->strip);
}

void sm_reduce_size_values(const sm_reduce_form *form, const sm_reduce_extents *extents,
                           int64_t values[SM_REDUCE_SIZES]) {
  values[SM_REDUCE_SIZE_REDUCED] = extents->reduced;
  values[SM_REDUCE_SIZE_INNER] = extents->inner;
  values[SM_REDUCE_SIZE_GROUPS] = groups_of(form, extents);
  int64_t ahead = extents->reduced ? round_up(AHEAD, extents->reduced) : 1;
  values[SM_REDUCE_SIZE_AHEAD] = ahead > form->strip ? ahead : form->strip;
}
