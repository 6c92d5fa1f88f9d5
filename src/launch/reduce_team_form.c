/* SPDX-License-Identifier: Apache-2.0
 *
 * Forms of teams, the groups of threads that make results of reductions together. */
#include "launch/reduce_forms.h"

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

/* What a round has one or some of: blocks, in COMBINE leaves. */
static int64_t count_needed(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  int64_t blocks = sm_ceil_div(extents->reduced, SM_TREE_BLOCK);
  if (form->stage == SM_REDUCE_COMBINE) return sm_reduce_groups(form, extents);
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

bool sm_reduce_runs_teams(const sm_profile *profile) {
  return profile->shared_bytes >= TEAM_BYTES && profile->max_group >= SM_TREE_LANES;
}

bool sm_reduce_is_worth_team(const sm_reduce_form *form, const sm_reduce_extents *extents,
                             const sm_profile *profile) {
  bool combines = form->stage == SM_REDUCE_COMBINE;
  int64_t least = combines ? LEAST_PARTIALS : LEAST_ELEMENTS;
  return sm_reduce_runs_teams(profile) &&
         (combines ? sm_reduce_groups(form, extents) : extents->reduced) >= least;
}

/* All elements of a round, if those of four bytes fit. */
static int choose_team_keep(const sm_reduce_form *form, const sm_profile *profile) {
  int keep = form->parts * SM_TREE_LANES * form->abreast * form->strip;
  bool has_room = profile->shared_bytes >= TEAM_BYTES + SM_REDUCE_KEPT_BYTES;
  int room = has_room ? (int)profile->shared_bytes - TEAM_BYTES : 0;
  bool fits = keep <= (room < MOST_KEPT_BYTES ? room : MOST_KEPT_BYTES) / (int)sizeof(float);
  return sm_reduce_is_resident(form) && form->one_leaf && fits ? keep : 0;
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

/* That a team of columns has side by side: with wide vectors fewer, so that there are as many teams. */
static int64_t count_strips(const sm_reduce_form *form, const sm_reduce_extents *extents) {
  int64_t all = extents->inner / form->strip, most = TEAM_COLUMNS / form->strip;
  if (most > MOST_STRIPS) most = MOST_STRIPS;
  return all < most ? all : most;
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
  int64_t needed = count_needed(form, extents);
  if (form->columns) form->abreast = 1 << sm_log2_above(count_strips(form, extents));
  while (form->abreast * threads_of_one(form) > most) form->abreast /= 2;
  form->levels = sm_log2_above(needed + 1);
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
void sm_reduce_choose_team(sm_reduce_form *form, const sm_reduce_extents *extents, int bytes, int vector,
                           const sm_profile *profile) {
  enum { NARROWEST = 2 };
  sm_reduce_form narrow = *form;
  int size = extents->bytes > NARROWEST ? extents->bytes : NARROWEST,
      wide = sm_reduce_lanes_of(size, profile);
  bool reads = form->stage != SM_REDUCE_COMBINE && extents->bytes && wide > vector;
  choose_team(form, extents, bytes, reads ? wide : vector, profile);
  if (!reads || !form->keep) return;
  *form = narrow;
  choose_team(form, extents, bytes, vector, profile);
}

bool sm_reduce_are_few_teams(const sm_reduce_extents *extents, int passes) {
  int64_t teams = extents->outer * sm_ceil_div(extents->inner, TEAM_COLUMNS);
  bool resident = passes > 1 && extents->inner == 1;
  int64_t group = (int64_t)sm_reduce_choose_group(extents->inner) * SM_TREE_BLOCK;
  return teams < (resident ? FEW_RESIDENT_TEAMS : FEW_TEAMS) && extents->reduced > group;
}
