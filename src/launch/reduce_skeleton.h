/* SPDX-License-Identifier: Apache-2.0
 *
 * The skeleton of reductions: kernel IR that combines elements by the canonical tree
 * (core/reduction.h), for devices that run chunks of work items.
 *
 * Purpose. Axes have been merged to three: [outer, reduced, inner], row-major. The
 * skeleton makes the loops and the tree; what an element is and what becomes of a
 * result is said by two functions of its caller, so that work before and after is
 * part of the kernel. Several reductions (*tasks*) of the same extents take one pass.
 *
 * Vocabulary. A *part* is what some elements have been combined to: a value, an
 * index where the task gives one, and of a centered task what it takes to know their mean. A *leaf* is a part
 * at the bottom of a binary counter: leaf q is combined with one kept part for each 1 at the end of q, and
 * kept in the *slot* whose number that is. Slots that the number of leaves has a 1 for are left over in the
 * end. Leaves are
 *
 *   rows       (inner is 1) blocks. Vectors hold the lanes of the tree, 16 wide on
 *              any machine, whose halves are combined down to one. Of the last vector
 *              only the first lanes are *there*: the others are neutral, and nothing is
 *              read and stored for them. Tasks whose result is the same in any order
 *              keep their lanes from block to block (those that give an index for fewer
 *              than 2^35 elements of an item).
 *   columns    (otherwise) lanes of blocks, in an order in which a counter combines
 *              lane l with l + 8 first. Vectors lie along the inner axis, of the last
 *              one the first columns are there; a *strip* of columns has a row of parts
 *              in each slot, read in one pass over the 16 rows of a lane.
 *
 * Rows of few elements would fill no vector. They are taken *across*: as columns that are next to
 * each other along the outer axis, which becomes the inner one. There is one block, so the lanes
 * of some columns are combined in the slots as they are, without a counter.
 *
 * Few columns would leave much of a vector empty, and have much to do for each leaf. Where rows follow
 * each other in memory they are taken *wide*: rows of all lanes of the tree, one after the other, are a
 * *sheet*. Sheet upon sheet fill the lanes of a block, which are combined in scratch memory. A leaf is a
 * block. Tasks whose parts are more than a value are not taken so.
 *
 * A *group* is a power of two of whole blocks. Its part depends on no other group, and
 * the tree over groups is the upper end of the whole tree; so long reductions are made
 * in two stages, PARTIAL and COMBINE, by any number of threads and with the same bits
 * as in one, WHOLE. In COMBINE the leaves are the groups' parts, and even a single
 * column is a strip.
 *
 * Memory is waited for where lanes are filled from memory, so one block after another is
 * right there; blocks in the caches are filled several *side by side*, whose additions do not
 * wait for each other. These are combined to one leaf.
 *
 * Where later elements need earlier results, an item makes several *passes* over its
 * elements: each combines the tasks that are its own, the last may have none. So a row is
 * read from memory once and then from the caches.
 *
 * Short rows are taken in *bands*: each pass goes over the rows of a band, so that the processor
 * works on several at once. What a pass has made of a row is in scratch memory for the next one; results
 * of vectors of rows are worked out together.
 *
 * Rows that are too long for that, and few, are shared out: each pass is two stages of its own,
 * or if it has no tasks a PARTIAL, and results are in memory for the passes after it.
 *
 * Where threads form groups (kir.h) with memory in common, a *team* of them makes some results
 * *abreast*: rows, or vectors of columns. In each *round* a thread combines the elements of a lane
 * of a block, or with rows of some lanes side by side, so that neighbours read neighbours; the
 * parts go to shared memory, to places in such an order that the tree combines each with the one
 * half of them further on, until there is one of each result: a leaf. Where threads exchange values
 * without memory, those of a row that are neighbours combine by *shuffles*, and what more than one set of
 * them makes goes to shared memory. In COMBINE a thread takes up
 * a group's part instead, or some of them. All threads learn the results; one stores them. They
 * go through all rounds together, those that have no elements with neutral ones.
 *
 * Squares of what elements differ from their mean (reduce_centered.c) are taken in the pass that
 * makes the mean, by rows and columns; rows across and teams leave that to several passes.
 *
 * Work items are all pairs of outer index and (in PARTIAL) group, and for columns all
 * their strips. */
#ifndef SM_LAUNCH_REDUCE_SKELETON_H
#define SM_LAUNCH_REDUCE_SKELETON_H

#include "core/reduction.h"
#include "kir/kir.h"
#include "rt/device.h"

enum { SM_REDUCE_TASKS = 8, SM_REDUCE_SIDE = 4, SM_REDUCE_PLACES = 8, SM_REDUCE_TEAM_LEAVES = 4 };

typedef struct sm_reduce_task {
  sm_reduction reduction;
  smelt_dtype dtype; /* that elements come and results are made in: no half type */
  int pass;          /* ascending */
} sm_reduce_task;

/* Arrays that parts lie in, as far as a task's parts have them. */
typedef enum sm_part_field {
  SM_PART_VALUE,
  SM_PART_INDEX,
  SM_PART_FIRST, /* of a centered task: one of the elements; */
  SM_PART_ABOVE, /* by how much their mean is above it; */
  SM_PART_COUNT, /* how many they are */
  SM_PART_FIELDS
} sm_part_field;

/* Of an sm_part_field; DTYPE_NONE if the task's parts do not have it. */
smelt_dtype sm_reduce_part_dtype(const sm_reduce_task *task, int field);

typedef struct sm_reduce_extents {
  int64_t outer, reduced, inner;
  bool across; /* rows taken as columns: in memory elements follow each other along the reduced axis */
  bool dense;  /* rows of columns follow each other in all that elements are made of, or it is the same
                  for all of them */
  int bytes;   /* of the widest operand's element in memory; 0: as of the tasks */
} sm_reduce_extents;

typedef enum sm_reduce_stage { SM_REDUCE_WHOLE, SM_REDUCE_PARTIAL, SM_REDUCE_COMBINE } sm_reduce_stage;

typedef struct sm_reduce_form {
  sm_reduce_stage stage;
  int passes, pass; /* all of the work; of stages the one that they belong to */
  bool columns;
  int across;     /* elements of a row taken across; 0 otherwise */
  int wide;       /* columns, if they are taken wide; 0 otherwise */
  int width;      /* columns side by side: some vectors */
  int vector;     /* lanes of one */
  int strip;      /* columns of a strip, rows of a band */
  int levels;     /* slots; of rows taken across, the lanes of a piece */
  int group;      /* blocks of a group */
  bool one_leaf;  /* rows and teams: an item has no more, and needs no counter */
  int side;       /* blocks of a row that are filled side by side */
  int threads;    /* of a team; 0: each works on items of its own */
  int abreast;    /* results, or vectors of them, that a team makes side by side; else 1 */
  int parts;      /* of each result, that a round of a team makes: a power of two */
  int shuffle;    /* teams of rows: threads that combine their parts of a result by shuffles; else 1 */
  int keep;       /* elements of an item, a band or a team's items, that fit into scratch memory;
                     0: they do not */
  bool streaming; /* elements that are written bypass the caches */
  bool aligned;   /* teams: vectors of what is written per element begin at multiples of
                     their width */
  bool whole_blocks, whole_pieces; /* no block, or round of a team, lacks an element; columns are a
                                      multiple of `width` */
} sm_reduce_form;

/* Of scratch memory for what a form keeps: on the thread's stack, or in the team's memory, where a
 * longer row has what one value of its elements takes. */
enum { SM_REDUCE_KEPT_BYTES = 32 * 1024 };
static inline int sm_reduce_kept_bytes(const sm_reduce_form *form) {
  int one = form->threads ? form->keep * (int)sizeof(float) : 0;
  return one > SM_REDUCE_KEPT_BYTES ? one : SM_REDUCE_KEPT_BYTES;
}

/* The form of one stage (reduce_form.c), in a pass of so many; only the class of the extents
 * enters it. */
sm_reduce_form sm_reduce_choose(const sm_reduce_task *tasks, int n_tasks, int passes, int pass,
                                const sm_reduce_extents *extents, sm_reduce_stage stage,
                                const sm_profile *profile);
/* Whether rows are to be taken across, as those that would fill no vector; the extents that
 * they have then. */
bool sm_reduce_wants_across(const sm_reduce_task *tasks, int n_tasks, const sm_reduce_extents *extents,
                            const sm_profile *profile);
sm_reduce_extents sm_reduce_turned(const sm_reduce_extents *extents);
/* Whether passes after the first find so much that it is in no cache any more. */
bool sm_reduce_rereads(const sm_reduce_form *form, const sm_reduce_extents *extents);
/* Whether the extents have so few results for so many elements that they are worth stages. */
bool sm_reduce_wants_stages(const sm_reduce_extents *extents, int passes, const sm_profile *profile);

static inline bool sm_reduce_has_bands(const sm_reduce_form *form) {
  return !form->columns && !form->threads && form->strip > 1;
}
/* Whether a band has vectors of rows, whose results are worked out together. */
static inline bool sm_reduce_joins_rows(const sm_reduce_form *form) {
  return sm_reduce_has_bands(form) && form->strip >= SM_TREE_LANES;
}
/* Whether strips of columns have scratch memory; otherwise what is known of an item are values. */
static inline bool sm_reduce_has_strips(const sm_reduce_form *form) {
  return form->columns && !form->threads;
}

/* Places of a result's parts in a team's memory. */
int sm_reduce_team_places(const sm_reduce_form *form);
/* Elements of a sheet in scratch memory, whose last vector begins in it. */
static inline int sm_reduce_sheet(const sm_reduce_form *form) {
  return SM_TREE_LANES * form->wide + form->vector;
}

/* Parts that PARTIAL leaves of a task, as [outer, group, inner]. */
int64_t sm_reduce_partials(const sm_reduce_form *form, const sm_reduce_extents *extents);
int64_t sm_reduce_work_items(const sm_reduce_form *form, const sm_reduce_extents *extents);

/* The skeleton's size arguments, in this order, behind those that the kernel had. */
typedef enum sm_reduce_size {
  SM_REDUCE_SIZE_REDUCED,
  SM_REDUCE_SIZE_INNER,
  SM_REDUCE_SIZE_GROUPS,
  SM_REDUCE_SIZE_AHEAD, /* rows from the one at work to the one that will be wanted from memory */
  SM_REDUCE_SIZES
} sm_reduce_size;
void sm_reduce_size_values(const sm_reduce_form *form, const sm_reduce_extents *extents,
                           int64_t values[SM_REDUCE_SIZES]);

/* Where elements or results are, as i64 values of the first lane; the others follow
 * along the reduced axis for rows, else along the inner one. */
typedef struct sm_reduce_place {
  int32_t outer, reduced, inner; /* of a result there is no `reduced` */
  int32_t index;                 /* row-major, of elements over all three axes */
  int32_t step;                  /* of `index` from lane to lane; NONE: 1 */
  int32_t column;                /* of `inner`, in its strip */
  int32_t kept;                  /* where scratch memory of the form's `keep` elements has what is kept of the
                                    lanes */
  int32_t writes;                /* of a team's results, which all its threads have: how often this one
                                    stores them, 0 or 1; else NONE */
  int32_t there;                 /* how many of the lanes there are, the first ones; NONE: all */
  int width;
  int pass;
} sm_reduce_place;

typedef struct sm_reduce_body {
  void *user;
  /* Adds the elements at n places, SM_REDUCE_PLACES at most: of each a value of the dtype of
   * each task of the pass. What is loaded for all of them comes before what is stored. No element is
   * worked out twice in a pass: what it becomes may be kept in the place of what it is made of. */
  void (*elements)(void *user, sm_kir_kernel *k, const sm_reduce_place *at, int n,
                   int32_t (*values)[SM_REDUCE_TASKS]);
  /* Uses the results at a place: of each task up to the pass a value of its dtype, or i64
   * indices. Values of rows may be used in all later passes of the item. */
  void (*results)(void *user, sm_kir_kernel *k, const sm_reduce_place *at, const int32_t *values);
  /* At the beginning of a PARTIAL that is not of the first pass: the results of all tasks
   * before it. */
  void (*resume)(void *user, sm_kir_kernel *k, const sm_reduce_place *at, const int32_t *values);
  /* Adds the body's own scratch memory, all arguments being there; or NULL. */
  void (*scratch)(void *user, sm_kir_kernel *k);
  /* What follows is at that index along the outer axis, until the next call; `ahead` of rows: see
   * SM_REDUCE_SIZE_AHEAD. Or NULL. */
  void (*row)(void *user, sm_kir_kernel *k, int32_t outer, int32_t ahead);
  /* Of rows taken across: before elements of some columns are asked for in the first pass, works all of
   * them out in the order in which they lie in memory, here the next ones; or NULL. `reduced` counts
   * on over the columns. */
  void (*stage)(void *user, sm_kir_kernel *k, const sm_reduce_place *at);
} sm_reduce_body;

/* Adds the code to a kernel that has the caller's arguments and nothing else. Between
 * stages parts lie in buffers, which are added behind: for each task those of its parts' fields;
 * where there are several passes, then for each task its results. The kernel is not
 * verified yet. PARTIAL has no results, COMBINE no elements. */
void sm_reduce_kernel(sm_kir_kernel *k, const sm_reduce_task *tasks, int n_tasks, const sm_reduce_form *form,
                      const sm_reduce_body *body);

#endif
