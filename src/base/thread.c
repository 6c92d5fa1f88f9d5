/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

static _Thread_local bool thread_inside;

bool sm_thread_inside(void) { return thread_inside; }
void sm_thread_set_inside(bool inside) { thread_inside = inside; }
