/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/call_driver.h"

#include "base/float_env.h"

/* --- Calls that are seldom -------------------------------------------------------------- */

smelt_status sm_call_open(sm_device *device, const char *argument, smelt_error *err) {
  sm_float_env host = sm_float_env_enter();
  smelt_status status = device->driver->open(device, argument, err);
  sm_float_env_leave(&host);
  return status;
}

void sm_call_close(sm_device *device) {
  sm_float_env host = sm_float_env_enter();
  device->driver->close(device);
  sm_float_env_leave(&host);
}

smelt_status sm_call_compile(sm_device *device, sm_kir_kernel *ir, bool interpreted, sm_kernel **out,
                             smelt_error *err) {
  const sm_driver *driver = device->driver;
  sm_float_env host = sm_float_env_enter();
  smelt_status status = (interpreted ? driver->interpret : driver->compile)(device, ir, out, err);
  sm_float_env_leave(&host);
  return status;
}

void sm_call_release(sm_device *device, sm_kernel *kernel) {
  sm_float_env host = sm_float_env_enter();
  device->driver->release(device, kernel);
  sm_float_env_leave(&host);
}

/* --- Calls on the way of every value ------------------------------------------------------- */

/* The host's environment, if a library of others is what is called. */
static sm_float_env enter(const sm_device *device) {
  sm_float_env host = {0};
  if (!device->driver->host_memory) host = sm_float_env_enter();
  return host;
}

static void leave(const sm_device *device, const sm_float_env *host) {
  if (!device->driver->host_memory) sm_float_env_leave(host);
}

void *sm_call_alloc(sm_device *device, size_t bytes) {
  sm_float_env host = enter(device);
  void *data = device->driver->alloc(device, bytes);
  leave(device, &host);
  return data;
}

void sm_call_free(sm_device *device, void *data, size_t bytes) {
  sm_float_env host = enter(device);
  device->driver->free(device, data, bytes);
  leave(device, &host);
}

smelt_status sm_call_upload(sm_device *device, void *data, size_t offset, const void *from, size_t bytes,
                            smelt_error *err) {
  sm_float_env host = enter(device);
  smelt_status status = device->driver->upload(device, data, offset, from, bytes, err);
  leave(device, &host);
  return status;
}

smelt_status sm_call_download(sm_device *device, const void *data, size_t offset, void *to, size_t bytes,
                              smelt_error *err) {
  sm_float_env host = enter(device);
  smelt_status status = device->driver->download(device, data, offset, to, bytes, err);
  leave(device, &host);
  return status;
}

smelt_status sm_call_wait(sm_device *device, smelt_error *err) {
  if (!device->driver->wait) return SMELT_OK;
  sm_float_env host = enter(device);
  smelt_status status = device->driver->wait(device, err);
  leave(device, &host);
  return status;
}

smelt_status sm_call_launch(sm_device *device, sm_kernel *kernel, const sm_launch *launch, smelt_error *err) {
  sm_float_env host = enter(device);
  smelt_status status = device->driver->launch(device, kernel, launch, err);
  leave(device, &host);
  return status;
}
