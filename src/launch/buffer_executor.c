/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/buffer_executor.h"

#include "rt/device.h"

static sm_buffer *retain(void *self, sm_buffer *buffer) {
  (void)self;
  return sm_buffer_ref(buffer);
}

static void release(void *self, sm_buffer *buffer) {
  (void)self;
  sm_buffer_drop(buffer);
}

sm_executor sm_buffer_executor(void *self, void (*run)(void *self, sm_job *job)) {
  return (sm_executor){.self = self, .run = run, .retain = retain, .release = release};
}
