/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices: what a driver has to offer, and buffers of device memory.
 *
 * Purpose. `rt` moves bytes and runs kernels without knowing what they mean.
 * A *driver* is a table of functions; a *device* is an opened driver with its
 * *profile* (plain data that planning and skeletons read). A *buffer* is
 * reference-counted memory of one device, its own or borrowed from the user. A
 * *view* is a buffer that looks at another one's memory through a layout, and keeps
 * that one alive.
 *
 * Rules. Drivers keep no global state. Every function may be called from any
 * thread unless it says otherwise; a launch returns when its work is done or
 * queued in order, and download waits for it. */
#ifndef SM_RT_DEVICE_H
#define SM_RT_DEVICE_H

#include <stdatomic.h>

#include "base/log.h"
#include "base/thread.h"
#include "codegen/c_family.h"
#include "core/layout.h"
#include "kir/kir.h"

/* Plain data that the planner and the skeletons read. */
typedef struct sm_profile {
  const char *name;          /* "cpu-avx512", "metal" */
  uint16_t vector_bytes;     /* widest vector */
  int max_bindings;          /* buffers a kernel may bind, metadata included */
  bool chunked;              /* CPU style: a call runs a range of work items */
  int plane;                 /* threads that run in step, where not chunked */
  int max_group;             /* threads of a group at most, a multiple of plane */
  int shuffle;               /* threads of a plane that exchange values without memory; 0: none do */
  uint32_t shared_bytes;     /* memory of a group; 0: threads do better without having some in common */
  uint64_t cache_bytes;      /* last-level cache; 0: results never bypass it */
  int interpreter_width;     /* lanes of interpreted kernels; 0: kernels are always compiled */
  const sm_dialect *dialect; /* of the C family, that kernels are written in; NULL: in none */
} sm_profile;

/* How many groups of how many threads run so many chunks, one a thread, on a device that is
 * not chunked: a group has as many whole planes as there is work for, in powers of two. */
typedef struct sm_launch_size {
  int64_t groups;
  int threads; /* of a group */
} sm_launch_size;
sm_launch_size sm_launch_size_of(const sm_profile *profile, int64_t chunks);

typedef struct sm_device sm_device;
typedef struct sm_buffer sm_buffer;
typedef struct sm_kernel sm_kernel; /* a compiled kernel, the driver's own */

typedef struct sm_launch sm_launch;
struct sm_launch {
  const sm_kir_span *buffers; /* where the elements are; without host memory whole buffers */
  size_t n_buffers;
  const int64_t *sizes;
  size_t n_sizes;
  const sm_word *scalars; /* the arguments, then the table */
  size_t n_scalars, n_table;
  int64_t work_items;
  int64_t grain; /* chunks begin and end at multiples of this */
  /* A padded kernel runs whole grains only; what is left is run on copies that
   * the driver pads. `moves` says by buffer whether its element follows the
   * work item (else it stays at the first). */
  bool padded;
  const bool *moves;
  /* The kernel runs again so often over what it has run over, each time with the next
   * n_buffers, n_sizes and n_scalars; there is no table then. Only on chunked devices: over
   * a chunk one run follows the other. */
  size_t repeats;
  int64_t cost_ns; /* estimate of one thread's time */
  int passes;      /* loops over the work items that the kernel runs one after another */
  /* What runs when this is done, as a part of it; NULL: nothing. */
  const sm_launch *next;
  sm_kernel *next_kernel;
};

/* The launch of one of its runs, which are numbered from 0. */
static inline sm_launch sm_launch_single(const sm_launch *l, size_t run) {
  sm_launch single = *l;
  single.repeats = 0;
  single.buffers += run * l->n_buffers;
  single.sizes += run * l->n_sizes;
  single.scalars += run * l->n_scalars;
  return single;
}

typedef struct sm_driver {
  const char *name;  /* "cpu" */
  bool runs_kernels; /* false: the op-level reference, compile and launch are NULL */
  bool host_memory;  /* the host can read device memory; else `data` is the driver's and no address */
  bool runs_opaque;  /* functions of the user compute in it (launch/run_opaque.h) */
  /* `argument` is what follows "name:" in the device string, or NULL. */
  smelt_status (*open)(sm_device *device, const char *argument, smelt_error *err);
  void (*close)(sm_device *device);
  /* One line for people: what runs kernels, or why they are interpreted. Optional. */
  void (*describe)(sm_device *device, sm_text *text);
  void *(*alloc)(sm_device *device, size_t bytes);
  void (*free)(sm_device *device, void *data, size_t bytes);
  /* Of `data`, from byte `offset` on. */
  smelt_status (*upload)(sm_device *device, void *data, size_t offset, const void *from, size_t bytes,
                         smelt_error *err);
  smelt_status (*download)(sm_device *device, const void *data, size_t offset, void *to, size_t bytes,
                           smelt_error *err);
  /* Waits for launches that were queued. NULL: they are done when they return. */
  smelt_status (*wait)(sm_device *device, smelt_error *err);
  /* Takes over the IR: on success it belongs to the kernel. ERR_UNSUPPORTED if
   * there is no code for it; then `interpret` (optional) is given a kernel of
   * the interpreter's width. */
  smelt_status (*compile)(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err);
  smelt_status (*interpret)(sm_device *device, sm_kir_kernel *ir, sm_kernel **out, smelt_error *err);
  /* Whether the kernel's code was on disk. NULL: never. */
  bool (*from_cache)(const sm_kernel *kernel);
  void (*release)(sm_device *device, sm_kernel *kernel);
  smelt_status (*launch)(sm_device *device, sm_kernel *kernel, const sm_launch *launch, smelt_error *err);
} sm_driver;

struct sm_device {
  const sm_driver *driver;
  const sm_allocator *allocator;
  const sm_log *log;
  const sm_profile *profile;
  bool keep_axes;              /* launch plans merge no axes, for experiments */
  const char *detail;          /* what runs its kernels: "llvm"; NULL: the profile's name says it */
  void *state;                 /* the driver's own */
  _Atomic uint64_t live_bytes; /* of buffers */
  sm_mutex lock;               /* guards: */
  sm_buffer *spare;            /* freed ones, for the next: the steady state allocates none */
};

/* Opens "name" or "name:argument" from the list of drivers (NULL-terminated).
 * ERR_DEVICE names what there is. */
smelt_status sm_device_open(sm_device *device, const char *spec, const sm_driver *const *drivers,
                            const sm_allocator *allocator, const sm_log *log, smelt_error *err);
void sm_device_close(sm_device *device);

/* --- Buffers -------------------------------------------------------------------- */
struct sm_buffer {
  _Atomic uint32_t refs;
  bool borrowed; /* the user's memory, or a view: never written */
  sm_device *device;
  void *data; /* device memory; NULL if bytes is 0 */
  size_t bytes;
  sm_buffer *base;         /* of a view: whose memory it is, itself no view */
  const sm_layout *layout; /* of a view: where in `data` its elements are; NULL: dense */
  void (*free_fn)(void *user);
  void *user;
  sm_buffer *next; /* among the spare ones */
};

/* Own memory, uninitialised, aligned to 64 bytes or more. ERR_MEMORY. */
smelt_status sm_buffer_create(sm_device *device, size_t bytes, sm_buffer **out, smelt_error *err);
/* The user's memory, or a copy of it without host memory; free_fn (optional) runs when the last
 * reference is gone. On failure it has not run. */
smelt_status sm_buffer_wrap(sm_device *device, const void *data, size_t bytes, void (*free_fn)(void *),
                            void *user, sm_buffer **out, smelt_error *err);
/* A buffer of the elements that `layout` finds in the memory of `base`, which may be
 * a view itself: layouts are always about the whole memory. It is `base` once more if
 * that would be no difference: all of the memory, dense. `base` stays the caller's. */
smelt_status sm_buffer_view(sm_buffer *base, smelt_dtype dtype, const sm_layout *layout, sm_buffer **out,
                            smelt_error *err);
/* Where in its memory a buffer has the elements of a tensor of this shape. */
void sm_buffer_layout(const sm_buffer *buffer, const sm_shape *shape, sm_layout *out);
/* Copies the elements of a tensor to the host, row-major. */
smelt_status sm_buffer_read(const sm_buffer *buffer, smelt_dtype dtype, const sm_shape *shape, void *to,
                            smelt_error *err);
sm_buffer *sm_buffer_ref(sm_buffer *buffer);
void sm_buffer_drop(sm_buffer *buffer);

/* Whether whoever holds this reference may write the memory: it is nobody else's. A copy
 * of the user's memory is not written either: the user would not get that back before the
 * result is gone. */
static inline bool sm_buffer_is_unique(const sm_buffer *buffer) {
  return !buffer->borrowed && !buffer->free_fn && atomic_load(&buffer->refs) == 1;
}

#endif
