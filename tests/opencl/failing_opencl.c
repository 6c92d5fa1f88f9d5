/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine's libOpenCL, with calls that fail when asked (failing_calls.h). What is not here is
 * found in the library behind this one. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "drivers/opencl_library.h"
#include "failing_calls.h"

#define EXPORT __attribute__((visibility("default")))
#define OPENCL(result, name, parameters) EXPORT result name parameters;
#include "drivers/opencl.def"

/* `next` becomes the library's own function of that name. */
#define FIND(result, name, parameters)    \
  result(*next) parameters;               \
  void *symbol = dlsym(RTLD_NEXT, #name); \
  if (!symbol) abort();                   \
  memcpy(&next, &symbol, sizeof next)

#define CODE(name, parameters, arguments)      \
  cl_int name parameters {                     \
    cl_int failure = failing_call(#name);      \
    if (failure != CL_SUCCESS) return failure; \
    FIND(cl_int, name, parameters);            \
    return next arguments;                     \
  }

/* The last parameter is where a code goes. */
#define OBJECT(result, name, parameters, arguments)          \
  result name parameters {                                   \
    cl_int failure = failing_call(#name);                    \
    if (failure != CL_SUCCESS) return *code = failure, NULL; \
    FIND(result, name, parameters);                          \
    return next arguments;                                   \
  }

typedef void notify_context(const char *, const void *, size_t, void *);
typedef void notify_program(cl_program, void *);

CODE(clGetPlatformIDs, (cl_uint room, cl_platform_id *ids, cl_uint *n), (room, ids, n))
CODE(clGetDeviceIDs, (cl_platform_id platform, cl_ulong type, cl_uint room, cl_device_id *ids, cl_uint *n),
     (platform, type, room, ids, n))
OBJECT(cl_context, clCreateContext,
       (const intptr_t *properties, cl_uint n, const cl_device_id *devices, notify_context *notify,
        void *user, cl_int *code),
       (properties, n, devices, notify, user, code))
OBJECT(cl_command_queue, clCreateCommandQueue,
       (cl_context context, cl_device_id device, cl_ulong properties, cl_int *code),
       (context, device, properties, code))
OBJECT(cl_mem, clCreateBuffer, (cl_context context, cl_ulong flags, size_t bytes, void *from, cl_int *code),
       (context, flags, bytes, from, code))
CODE(clEnqueueReadBuffer,
     (cl_command_queue queue, cl_mem memory, cl_uint wait, size_t offset, size_t bytes, void *to, cl_uint n,
      const cl_event *events, cl_event *event),
     (queue, memory, wait, offset, bytes, to, n, events, event))
CODE(clEnqueueWriteBuffer,
     (cl_command_queue queue, cl_mem memory, cl_uint wait, size_t offset, size_t bytes, const void *from,
      cl_uint n, const cl_event *events, cl_event *event),
     (queue, memory, wait, offset, bytes, from, n, events, event))
OBJECT(cl_program, clCreateProgramWithSource,
       (cl_context context, cl_uint n, const char **texts, const size_t *lengths, cl_int *code),
       (context, n, texts, lengths, code))
CODE(clBuildProgram,
     (cl_program program, cl_uint n, const cl_device_id *devices, const char *options, notify_program *notify,
      void *user),
     (program, n, devices, options, notify, user))
OBJECT(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *code), (program, name, code))
CODE(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t bytes, const void *value),
     (kernel, index, bytes, value))
CODE(clEnqueueNDRangeKernel,
     (cl_command_queue queue, cl_kernel kernel, cl_uint rank, const size_t *offset, const size_t *all,
      const size_t *group, cl_uint n, const cl_event *events, cl_event *event),
     (queue, kernel, rank, offset, all, group, n, events, event))
CODE(clFlush, (cl_command_queue queue), (queue))
CODE(clFinish, (cl_command_queue queue), (queue))
