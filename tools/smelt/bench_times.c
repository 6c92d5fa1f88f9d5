/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock, medians and percentiles, and who else uses the processors. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "bench.h"

double bench_now_us(void) { return (double)sm_os_now() / 1e3; }

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

bench_times bench_times_of(const double *samples, int n) {
  double sorted[BENCH_MAX_ROUNDS];
  memcpy(sorted, samples, (size_t)n * sizeof *samples);
  qsort(sorted, (size_t)n, sizeof *sorted, compare);
  double median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  return (bench_times){median, sorted[n / 10], sorted[n * 9 / 10]};
}

double bench_median_ratio(const double *a, const double *b, int n) {
  double ratios[BENCH_MAX_ROUNDS];
  for (int i = 0; i < n; i++) ratios[i] = a[i] / b[i];
  return bench_times_of(ratios, n).median;
}

/* --- Load ------------------------------------------------------------------------------ */

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

/* Of this process and its children that have ended. */
static double own_seconds(void) {
  struct rusage self, children;
  (void)getrusage(RUSAGE_SELF, &self);
  (void)getrusage(RUSAGE_CHILDREN, &children);
  return seconds(self.ru_utime) + seconds(self.ru_stime) + seconds(children.ru_utime) +
         seconds(children.ru_stime);
}

/* Of all processors; what the host has taken from them included. NAN if unknown. */
static double busy_seconds(void) {
  unsigned long long user, nice, system, irq, softirq, steal;
  FILE *f = fopen("/proc/stat", "r");
  if (!f) return NAN;
  int n =
      fscanf(f, "cpu %llu %llu %llu %*u %*u %llu %llu %llu", &user, &nice, &system, &irq, &softirq, &steal);
  (void)fclose(f);
  if (n != 6) return NAN;
  return (double)(user + nice + system + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK);
}

bench_load bench_load_now(void) { return (bench_load){bench_now_us() / 1e6, busy_seconds(), own_seconds()}; }

double bench_load_of_others(const bench_load *before) {
  bench_load now = bench_load_now();
  double others = (now.busy - before->busy) - (now.own - before->own);
  double share = others / ((now.time - before->time) * (double)sysconf(_SC_NPROCESSORS_ONLN));
  return isnan(share) ? NAN : fmin(fmax(share, 0), 1);
}
