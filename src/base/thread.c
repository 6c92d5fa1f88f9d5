/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

static _Thread_local bool thread_inside;
static _Thread_local bool thread_in_job;

bool sm_thread_inside(void) { return thread_inside; }
void sm_thread_set_inside(bool inside) { thread_inside = inside; }

bool sm_thread_in_job(void) { return thread_in_job; }
void sm_thread_set_in_job(bool in_job) { thread_in_job = in_job; }
