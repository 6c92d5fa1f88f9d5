/* SPDX-License-Identifier: Apache-2.0
 *
 * What tests of devices with memory of their own share. */
#ifndef TESTS_DEVICE_FIXTURE_H
#define TESTS_DEVICE_FIXTURE_H

#include <sys/wait.h>
#include <unistd.h>

#include "api_fixture.h"

/* In a child of fork the context of the parent answers ERR_FORKED, and the parent does not
 * notice. */
static inline void check_fork(smelt_context *ctx) {
  float y[4], x[4] = {0};
  int status;
  smelt_tensor *t = smelt_from_host(ctx, SMELT_F32, DIMS(4), x);
  CHECK_STATUS(smelt_eval((const smelt_tensor *[]){t}, 1, NULL), SMELT_OK);
  pid_t child = fork();
  if (child == 0) {
    bool refused = smelt_read(t, SMELT_F32, y, sizeof y, NULL) == SMELT_ERR_FORKED;
    smelt_drop(t);
    (void)smelt_context_destroy(ctx, NULL);
    _exit(refused ? 0 : 1);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  CHECK_I64(WEXITSTATUS(status), 0);
  CHECK_STATUS(smelt_into_host(t, SMELT_F32, y, sizeof y, NULL), SMELT_OK);
}

#endif
