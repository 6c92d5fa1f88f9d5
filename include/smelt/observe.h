/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program became: which operations went into which kernels, why others did
 * not, what was read and written, and how long it took.
 *
 * The manual is docs/observing.md. */
#ifndef SMELT_OBSERVE_H
#define SMELT_OBSERVE_H

#include "smelt/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Explanations ---------------------------------------------------------------- */

/* What became of the segments that ended while the context was being explained, of
 * all its threads, at most the last 256. The caller's to free; it outlives the
 * context. Nobody changes it, so any thread may read it. */
typedef struct smelt_explanation smelt_explanation;

/* An operation that was recorded. */
typedef struct smelt_explained_operation {
  size_t size;      /* sizeof(smelt_explained_operation), set by the caller */
  uint64_t segment; /* from 0, in the order in which they were done */
  uint64_t tensor;  /* its result, t4 of the log */
  const char *name; /* "NumericFloat(F32, Mul)", as the log names it */
  smelt_dtype dtype;
  int rank;
  int64_t dims[SMELT_MAX_RANK];
  int64_t kernel; /* its number here; -1: it was not run, as nobody wanted the result */
} smelt_explained_operation;

/* One operation uses another's result, and they are not in one kernel. */
typedef struct smelt_explained_edge {
  size_t size;               /* sizeof(smelt_explained_edge), set by the caller */
  size_t producer, consumer; /* their numbers here */
  const char *reason;        /* "bindings"; docs/fusion.md lists them. Static */
  const char *meaning;       /* "binding limit of the device". Static */
  int bindings, limit;       /* where buffers were counted: how many, of how many; 0 */
} smelt_explained_edge;

/* What operations became together. A view becomes no launch, nor does what has no
 * elements or has failed; a concatenation is several. */
typedef struct smelt_explained_kernel {
  size_t size; /* sizeof(smelt_explained_kernel), set by the caller */
  uint64_t segment;
  uint64_t operations; /* what dissolved in several kernels counts in each */
  uint64_t launches;
  const char *fuser; /* "ElementWise"; the device where it fuses nothing */
  const char *name;  /* of the first launch, "" if there is none */
  uint64_t bytes_read, bytes_written;
  uint64_t in_place;    /* results written over an operand */
  bool interpreted;     /* there is no code for it */
  const char *estimate; /* where predicted_ns comes from: "model", "none". Static */
  int64_t predicted_ns; /* of one thread */
  int64_t measured_ns;  /* in the driver */
} smelt_explained_kernel;

/* From here on segments are explained; what was kept before is forgotten. ERR_ARGUMENT
 * for NULL. Thread-safe. */
SMELT_API smelt_status smelt_explain_begin(smelt_context *ctx, smelt_error *err);
/* No more, and `*out` is what there is; NULL on failure: ERR_ARGUMENT for NULL and
 * without smelt_explain_begin, ERR_MEMORY if something could not be kept. Pending
 * operations are no part of it: smelt_sync before. Thread-safe. */
SMELT_API smelt_status smelt_explain_end(smelt_context *ctx, smelt_explanation **out, smelt_error *err);
/* NULL is allowed. */
SMELT_API void smelt_explanation_free(smelt_explanation *e);

/* What ran the kernels: "fusion<cpu<llvm>>", and if some were interpreted, why. */
SMELT_API const char *smelt_explanation_device(const smelt_explanation *e);

/* How many there are, and the i-th of them; strings live as long as the explanation.
 * ERR_ARGUMENT if there is no such one, or `size` is unknown. */
SMELT_API size_t smelt_explanation_operations(const smelt_explanation *e);
SMELT_API size_t smelt_explanation_edges(const smelt_explanation *e);
SMELT_API size_t smelt_explanation_kernels(const smelt_explanation *e);
SMELT_API smelt_status smelt_explanation_operation(const smelt_explanation *e, size_t i,
                                                   smelt_explained_operation *out);
SMELT_API smelt_status smelt_explanation_edge(const smelt_explanation *e, size_t i,
                                              smelt_explained_edge *out);
SMELT_API smelt_status smelt_explanation_kernel(const smelt_explanation *e, size_t i,
                                                smelt_explained_kernel *out);

typedef enum smelt_explanation_form {
  SMELT_EXPLANATION_TEXT = 0,
  SMELT_EXPLANATION_JSON = 1
} smelt_explanation_form;

/* All of it, for people or as one JSON object, as smelt_format writes tensors. */
SMELT_API smelt_status smelt_explanation_format(const smelt_explanation *e, smelt_explanation_form form,
                                                char *buf, size_t size, size_t *needed, smelt_error *err);

/* --- Reproducers --------------------------------------------------------------------- */

/* Writes what the calling thread has recorded, and not yet run, as a program that does
 * it again and prints the results: in the .smt form or in C, as `path` ends. Inputs are
 * in it if they have at most 4096 elements or all the same; others are 0, 1, 2, ...
 * Runs nothing. ERR_ARGUMENT (NULL, another ending), ERR_IO, after which there is no
 * such file, ERR_MEMORY, ERR_REENTRANT. Thread-safe. */
SMELT_API smelt_status smelt_reproduce(smelt_context *ctx, const char *path, smelt_error *err);

/* --- Tensors that are alive ------------------------------------------------------------ */

/* A tensor to which somebody has a reference. */
typedef struct smelt_leak {
  size_t size;           /* sizeof(smelt_leak), set by the library */
  uint64_t tensor;       /* t4 of the log */
  uint64_t references;   /* not yet taken or dropped */
  const char *operation; /* that made it: "exp", "from_host". Static */
  const char *where;     /* "main.c:12", where SMELT_DEBUG was defined for that call; "" */
  smelt_dtype dtype;
  int rank;
  int64_t dims[SMELT_MAX_RANK];
  int64_t bytes; /* of its elements */
} smelt_leak;

/* Called without locks; must not record operations. `leak` is gone afterwards. */
typedef void smelt_leak_fn(void *user, const smelt_leak *leak);

/* Tells of all tensors of the context that are alive now, of each thread the latest first;
 * smelt_context_destroy tells the log (category memory) of those that it finds.
 * ERR_ARGUMENT for NULL, ERR_MEMORY, ERR_REENTRANT. Thread-safe. */
SMELT_API smelt_status smelt_leaks(smelt_context *ctx, smelt_leak_fn *fn, void *user, smelt_error *err);

/* --- Events -------------------------------------------------------------------------- */

/* A program that wants to know at once what happens gives its context an observer. Any
 * thread that uses the context calls it, several at once, without locks. It must not record
 * operations or read (SMELT_ERR_REENTRANT); a smelt_drop takes effect later. An event and
 * its strings are valid during the call. `size` is what the library knows of the event:
 * later versions add members at the end. Without memory for an event it is lost.
 * smelt_context_destroy tells of what it finds and frees, after which nobody is called. */

/* An operation was recorded: one that the program called, or a conversion of its operand. */
typedef struct smelt_operation_event {
  size_t size;
  uint64_t stream;  /* of the thread, from 1 */
  uint64_t tensor;  /* the result, t4 of the log */
  const char *name; /* "NumericFloat(F32, Mul)", as the log names it */
  smelt_dtype dtype;
  int rank;
  int64_t dims[SMELT_MAX_RANK];
} smelt_operation_event;

/* Operations of one plan are about to run together, also if that was planned earlier. */
typedef struct smelt_block_event {
  size_t size;
  const char *fuser;       /* "ElementWise". Static */
  const uint64_t *tensors; /* the results of the operations, in the order of recording */
  size_t operations;       /* how many */
} smelt_block_event;

/* An operation uses another's result and is not in one block with it. Told before the
 * blocks of the plan. */
typedef struct smelt_apart_event {
  size_t size;
  uint64_t producer, consumer; /* their results */
  const char *reason;          /* "bindings"; docs/fusion.md lists them. Static */
  const char *meaning;         /* "binding limit of the device". Static */
  int bindings, limit;         /* where buffers were counted: how many, of how many; 0 */
} smelt_apart_event;

/* The context has a kernel that it had not yet. */
typedef struct smelt_kernel_event {
  size_t size;
  const char *name;
  int64_t ns;       /* that it took to get it */
  bool from_cache;  /* its code was on disk */
  bool interpreted; /* there is no code for it */
} smelt_kernel_event;

/* A kernel enters the driver; on "ref" an operation has been computed. */
typedef struct smelt_launch_event {
  size_t size;
  const char *fuser;  /* "ElementWise"; the device where it fuses nothing. Static */
  const char *kernel; /* its name */
  uint64_t bytes_read, bytes_written;
  uint64_t in_place; /* results written over an operand */
  bool interpreted;
} smelt_launch_event;

/* Something failed. What depends on it inherits the cause and is not told of. */
typedef struct smelt_poison_event {
  size_t size;
  uint64_t tensor; /* 0: a call failed, and nothing was recorded */
  smelt_status status;
  const char *text;
} smelt_poison_event;

/* Memory for elements was allocated or freed; that of smelt_wrap is the program's own. */
typedef struct smelt_memory_event {
  size_t size;
  int64_t bytes;       /* negative if freed */
  uint64_t live_bytes; /* then in use by the context */
} smelt_memory_event;

/* Callbacks, each of which may be NULL. Start from SMELT_OBSERVER_INIT. */
typedef struct smelt_observer {
  size_t size; /* sizeof(smelt_observer) */
  void *user;  /* first argument of all */
  void (*operation)(void *user, const smelt_operation_event *event);
  void (*block)(void *user, const smelt_block_event *event);
  void (*apart)(void *user, const smelt_apart_event *event);
  void (*kernel)(void *user, const smelt_kernel_event *event);
  void (*launch)(void *user, const smelt_launch_event *event);
  void (*poison)(void *user, const smelt_poison_event *event);
  void (*memory)(void *user, const smelt_memory_event *event);
  smelt_leak_fn *leak; /* a tensor that is alive when the context is destroyed */
} smelt_observer;

#define SMELT_OBSERVER_INIT \
  { sizeof(smelt_observer), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

#ifdef __cplusplus
}
#endif
#endif
