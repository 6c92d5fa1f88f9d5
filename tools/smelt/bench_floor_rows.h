/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of floors that reduce, for one level of processors: the second half of
 * bench_floor_loops.h, which says what the macros mean. SUMS accumulators hide each
 * other's latency. A row that was read once is read again from the caches. */

/* One statement for all accumulators, and the same for elements `first` to before
 * `last`: the vector of accumulator u is AT(array). */
#define EACH(statement)                                  \
  do {                                                   \
    UNROLL for (int u = 0; u < SUMS; u++) { statement; } \
  } while (0)
#define OVER(first, last, statement) \
  for (size_t i = (first); i < (last); i += (size_t)LANES * SUMS) EACH(statement)
#define PLACE(p) ((p) + i + (size_t)u * LANES)
#define AT(p) LOAD(PLACE(p))

HELPER_OF(float, sum)(const VEC *s) {
  ALIGNED float lanes[LANES];
  float sum = 0;
  STORE(lanes, s[0] + s[1] + (s[2] + s[3]));
  for (int k = 0; k < LANES; k++) sum += lanes[k];
  return sum;
}

HELPER_OF(float, largest)(const VEC *s) {
  ALIGNED float lanes[LANES];
  STORE(lanes, MAX(MAX(s[0], s[1]), MAX(s[2], s[3])));
  float largest = lanes[0];
  for (int k = 1; k < LANES; k++) largest = lanes[k] > largest ? lanes[k] : largest;
  return largest;
}

/* --- Of everything: the sum of a share is put where nobody else's is ----------------------- */

LOOP(r1) {
  const float *x = work->in[0];
  VEC s[SUMS] = {SET(0), SET(0), SET(0), SET(0)};
  OVER(begin, end, s[u] = s[u] + AT(x));
  work->out[begin / BENCH_BLOCK] = CALL(sum)(s);
}

LOOP(r2) {
  const float *a = work->in[0], *b = work->in[1];
  VEC s[SUMS] = {SET(0), SET(0), SET(0), SET(0)};
  OVER(begin, end, s[u] = s[u] + AT(a) * AT(b));
  work->out[begin / BENCH_BLOCK] = CALL(sum)(s);
}

LOOP(r3) {
  const float *a = work->in[0], *b = work->in[1], *c = work->in[2];
  VEC s[SUMS] = {SET(0), SET(0), SET(0), SET(0)};
  OVER(begin, end, s[u] = s[u] + (AT(a) * AT(b) + AT(c)));
  work->out[begin / BENCH_BLOCK] = CALL(sum)(s);
}

/* --- Parts of rows of n elements ------------------------------------------------------------- */

HELPER_OF(float, row_sum)(const float *x, size_t n) {
  VEC s[SUMS] = {SET(0), SET(0), SET(0), SET(0)};
  OVER(0, n, s[u] = s[u] + AT(x));
  return CALL(sum)(s);
}

HELPER_OF(float, row_largest)(const float *x, size_t n) {
  VEC s[SUMS] = {LOAD(x), LOAD(x), LOAD(x), LOAD(x)};
  OVER(0, n, s[u] = MAX(s[u], AT(x)));
  return CALL(largest)(s);
}

/* Of (x - shift)^2. The next row, which lies behind this one, is fetched meanwhile. */
HELPER_OF(float, row_squares)(const float *x, size_t n, float shift) {
  VEC s[SUMS] = {SET(0), SET(0), SET(0), SET(0)}, by = SET(shift);
  OVER(0, n, FETCH(PLACE(x + n)); VEC d = AT(x) - by; s[u] = FMA(d, d, s[u]));
  return CALL(sum)(s);
}

/* Of exp(x - shift). The next row is fetched here too. */
HELPER_OF(float, row_exps)(const float *x, size_t n, float shift) {
  VEC s[SUMS] = {SET(0), SET(0), SET(0), SET(0)}, by = SET(shift);
  OVER(0, n, FETCH(PLACE(x + n)); s[u] = s[u] + CALL(exp)(AT(x) - by));
  return CALL(sum)(s);
}

/* The same, and the exponentials are kept. */
HELPER_OF(float, row_kept_exps)(const float *x, size_t n, float shift, float *e) {
  VEC s[SUMS] = {SET(0), SET(0), SET(0), SET(0)}, by = SET(shift);
  OVER(0, n, FETCH(PLACE(x + n)); VEC v = CALL(exp)(AT(x) - by); STORE(PLACE(e), v); s[u] = s[u] + v);
  return CALL(sum)(s);
}

/* y = x * scale. */
HELPER_OF(void, row_scale)(const float *x, float *y, size_t n, float scale) {
  VEC times = SET(scale);
  for (size_t i = 0; i < n; i += LANES) STREAM(y + i, LOAD(x + i) * times);
}

/* y = x * scale * g, with a weight for each column. */
HELPER_OF(void, row_weigh)(const float *x, float *y, size_t n, float scale, const float *g) {
  VEC times = SET(scale);
  for (size_t i = 0; i < n; i += LANES) STREAM(y + i, LOAD(x + i) * times * LOAD(g + i));
}

/* y = (x - shift) * scale * g + b. */
HELPER_OF(void, row_shift_and_weigh)
(const float *x, float *y, size_t n, float shift, float scale, const float *g, const float *b) {
  VEC by = SET(shift), times = SET(scale);
  for (size_t i = 0; i < n; i += LANES)
    STREAM(y + i, FMA((LOAD(x + i) - by) * times, LOAD(g + i), LOAD(b + i)));
}

/* --- Rows -------------------------------------------------------------------------------------- */

/* Exponentials of rows that are longer than the buffer wait in the result. */
LOOP(softmax) {
  ALIGNED float buffer[ROW_BUFFER];
  size_t n = work->columns;
  for (size_t at = begin; at < end; at += n) {
    const float *x = work->in[0] + at;
    float *e = n <= ROW_BUFFER ? buffer : work->out + at;
    float total = CALL(row_kept_exps)(x, n, CALL(row_largest)(x, n), e);
    CALL(row_scale)(e, work->out + at, n, 1 / total);
  }
}

LOOP(layernorm) {
  size_t n = work->columns;
  for (size_t at = begin; at < end; at += n) {
    const float *x = work->in[0] + at;
    float mean = CALL(row_sum)(x, n) / (float)n;
    float variance = CALL(row_squares)(x, n, mean) / (float)n;
    float scale = 1 / sqrtf(variance + 1e-5f);
    CALL(row_shift_and_weigh)(x, work->out + at, n, mean, scale, work->in[1], work->in[2]);
  }
}

LOOP(rmsnorm) {
  size_t n = work->columns;
  for (size_t at = begin; at < end; at += n) {
    const float *x = work->in[0] + at;
    float square = CALL(row_squares)(x, n, 0) / (float)n;
    CALL(row_weigh)(x, work->out + at, n, 1 / sqrtf(square + 1e-5f), work->in[1]);
  }
}

LOOP(expsum) {
  size_t n = work->columns;
  for (size_t at = begin; at < end; at += n) {
    const float *x = work->in[0] + at;
    work->out[at / n] = CALL(row_exps)(x, n, CALL(row_largest)(x, n));
  }
}

LOOP(moments) {
  size_t n = work->columns;
  for (size_t at = begin; at < end; at += n) {
    const float *x = work->in[0] + at;
    float mean = CALL(row_sum)(x, n) / (float)n;
    work->out[at / n] = mean + CALL(row_squares)(x, n, mean) / (float)n;
  }
}

#undef EACH
#undef OVER
#undef PLACE
#undef AT
