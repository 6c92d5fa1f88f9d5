/* SPDX-License-Identifier: Apache-2.0
 *
 * .npy files: what NumPy writes is read and written byte for byte, everything
 * damaged or foreign is refused with a message that names the place, and a
 * failed save leaves nothing behind. */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "smelt/io.h"
#include "harness.h"

/* --- A temporary folder and a context per case ------------------------------ */

static char folder[] = "/tmp/smelt-npy-XXXXXX";
static char path_buf[128];
static smelt_context *ctx;
static smelt_error err;

static const char *path_of(const char *name) {
  (void)snprintf(path_buf, sizeof path_buf, "%s/%s", folder, name);
  return path_buf;
}

static void enter(void) {
  CHECK(mkdtemp(folder) != NULL);
  ctx = smelt_context_create(NULL, &err);
  CHECK(ctx != NULL);
}

/* Number of files in the folder, which are removed if asked for. */
static int count_files(bool and_remove) {
  DIR *d = opendir(folder);
  int n = 0;
  for (struct dirent *e; d && (e = readdir(d));) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    n++;
    if (and_remove) (void)unlink(path_of(e->d_name));
  }
  if (d) (void)closedir(d);
  return n;
}

static void leave(void) {
  (void)count_files(true);
  CHECK_I64(rmdir(folder), 0);
  CHECK_OK(smelt_context_destroy(ctx, &err), err);
}

/* --- Files by hand ------------------------------------------------------------- */

typedef struct bytes {
  unsigned char data[2048];
  size_t n;
} bytes;

static void append(bytes *b, const void *data, size_t n) {
  memcpy(b->data + b->n, data, n);
  b->n += n;
}

/* A whole file: prefix, dict, spaces up to the end of the line, data. */
static bytes file_of(int major, const char *dict, size_t header_len, const void *data, size_t n) {
  bytes b = {.n = 0};
  append(&b, "\x93NUMPY", 6);
  append(&b, (unsigned char[]){(unsigned char)major, 0}, 2);
  append(&b, (unsigned char[]){(unsigned char)header_len, (unsigned char)(header_len >> 8), 0, 0},
         major == 1 ? 2 : 4);
  size_t start = b.n, text = strlen(dict);
  append(&b, dict, text);
  memset(b.data + start + text, ' ', header_len - text - 1);
  b.data[start + header_len - 1] = '\n';
  b.n = start + header_len;
  append(&b, data, n);
  return b;
}

static void store(const char *path, const void *data, size_t n) {
  FILE *f = fopen(path, "wb");
  CHECK(f != NULL);
  CHECK_I64(fwrite(data, 1, n, f), n);
  CHECK_I64(fclose(f), 0);
}

static bytes fetch(const char *path) {
  bytes b = {.n = 0};
  FILE *f = fopen(path, "rb");
  CHECK(f != NULL);
  b.n = fread(b.data, 1, sizeof b.data, f);
  CHECK_I64(fclose(f), 0);
  return b;
}

static void check_bytes(const bytes *b, const void *data, size_t n) {
  CHECK_I64(b->n, n);
  CHECK(memcmp(b->data, data, n) == 0);
}

static smelt_status load_bytes(const bytes *b, smelt_tensor **out) {
  const char *path = path_of("in.npy");
  store(path, b->data, b->n);
  return smelt_npy_load(ctx, path, out, &err);
}

/* Loads a file and compares dtype, shape and elements. */
static void check_loads(const bytes *b, smelt_dtype dtype, int rank, const int64_t *dims, const void *data,
                        size_t n) {
  smelt_tensor *t;
  int64_t got_dims[SMELT_MAX_RANK];
  char got[256];
  CHECK_OK(load_bytes(b, &t), err);
  CHECK_I64(smelt_dtype_of(t), dtype);
  CHECK_I64(smelt_dims(t, got_dims), rank);
  for (int i = 0; i < rank; i++) CHECK_I64(got_dims[i], dims[i]);
  CHECK_OK(smelt_read(t, dtype, got, n, &err), err);
  CHECK(memcmp(got, data, n) == 0);
  smelt_drop(t);
}

static void check_refused(const bytes *b, smelt_status status, const char *part) {
  smelt_tensor *t = (smelt_tensor *)&t;
  CHECK_STATUS(load_bytes(b, &t), status);
  CHECK(t == NULL);
  CHECK_CONTAINS(err.text, part);
  CHECK_CONTAINS(err.text, "in.npy: ");
}

/* A header with one i1 element behind it. */
static void check_dict_refused(const char *dict, smelt_status status, const char *part) {
  bytes b = file_of(1, dict, 246, "\5", 1);
  check_refused(&b, status, part);
}

static void check_dict_accepted(const char *dict) {
  bytes b = file_of(1, dict, 246, "\5", 1);
  check_loads(&b, SMELT_I8, 1, (int64_t[]){1}, "\5", 1);
}

/* --- What NumPy writes ------------------------------------------------------------ */

static const float six[] = {0, 1, 2, 3, 4, 5};
static const int64_t two_three[] = {2, 3};
#define DICT_F4 "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"

TEST(c_order) {
  enter();
  bytes b = file_of(1, DICT_F4, 0x76, six, sizeof six);
  check_loads(&b, SMELT_F32, 2, two_three, six, sizeof six);
  leave();
}

TEST(fortran_order) {
  enter();
  static const float columns[] = {0, 3, 1, 4, 2, 5};
  bytes b =
      file_of(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 0x76, columns, sizeof columns);
  check_loads(&b, SMELT_F32, 2, two_three, six, sizeof six);
  /* Element (i, j, k) is 100 i + 10 j + k. */
  static const uint8_t deep[] = {0, 100, 10, 110, 20, 120, 1, 101, 11, 111, 21, 121};
  static const uint8_t rows[] = {0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121};
  b = file_of(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }", 0x76, deep, sizeof deep);
  check_loads(&b, SMELT_U8, 3, (int64_t[]){2, 3, 2}, rows, sizeof rows);
  b = file_of(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (6,), }", 0x76, six, sizeof six);
  check_loads(&b, SMELT_F32, 1, (int64_t[]){6}, six, sizeof six);
  b = file_of(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (), }", 0x76, six, 4);
  check_loads(&b, SMELT_F32, 0, NULL, six, 4);
  leave();
}

/* Larger than the squares in which axes are exchanged, with ragged edges. */
TEST(fortran_order_large) {
  enter();
  enum { ROWS = 70, COLUMNS = 45, COUNT = ROWS * COLUMNS };
  static int32_t data[COUNT], got[COUNT];
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < COLUMNS; j++) data[i + j * ROWS] = 1000 * i + j;
  }
  bytes head = file_of(1, "{'descr': '<i4', 'fortran_order': True, 'shape': (70, 45), }", 0x76, "", 0);
  FILE *f = fopen(path_of("large.npy"), "wb");
  CHECK(f && fwrite(head.data, 1, head.n, f) == head.n && fwrite(data, 4, COUNT, f) == COUNT);
  CHECK_I64(fclose(f), 0);
  smelt_tensor *t;
  CHECK_OK(smelt_npy_load(ctx, path_of("large.npy"), &t, &err), err);
  CHECK_OK(smelt_into_host(t, SMELT_I32, got, sizeof got, &err), err);
  for (int i = 0; i < COUNT; i++) CHECK_I64(got[i], 1000 * (i / COLUMNS) + i % COLUMNS);
  leave();
}

TEST(big_endian) {
  enter();
  bytes b = file_of(1, "{'descr': '>i2', 'fortran_order': False, 'shape': (3,), }", 0x76,
                    "\x00\x01\xff\xfe\x01\x2c", 6);
  check_loads(&b, SMELT_I16, 1, (int64_t[]){3}, (int16_t[]){1, -2, 300}, 6);
  b = file_of(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (), }", 0x76, "\x40\x20\x00\x00", 4);
  check_loads(&b, SMELT_F32, 0, NULL, (float[]){2.5f}, 4);
  b = file_of(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (), }", 0x76,
              "\x40\x04\x00\x00\x00\x00\x00\x00", 8);
  check_loads(&b, SMELT_F64, 0, NULL, (double[]){2.5}, 8);
  leave();
}

TEST(formats_2_and_3) {
  enter();
  static const uint64_t data[] = {1, 2};
  for (int major = 2; major <= 3; major++) {
    bytes b = file_of(major, "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }", 0x74, data, 16);
    check_loads(&b, SMELT_U64, 1, (int64_t[]){2}, data, 16);
  }
  leave();
}

TEST(empty_and_full_rank) {
  enter();
  bytes b = file_of(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (0, 3), }", 0x76, "", 0);
  check_loads(&b, SMELT_I8, 2, (int64_t[]){0, 3}, "", 0);
  b = file_of(1, "{'descr': '|i1', 'fortran_order': True, 'shape': (0, 1099511627776, 3), }", 0x76, "", 0);
  check_loads(&b, SMELT_I8, 3, (int64_t[]){0, 1099511627776, 3}, "", 0);
  b = file_of(1, "{'descr': '|i1', 'fortran_order': True, 'shape': (1,1,1,1,1,1,1,2,1,1,1,1,1,1,1,1), }",
              0x76, "\1\2", 2);
  check_loads(&b, SMELT_I8, 16, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1}, "\1\2", 2);
  leave();
}

TEST(bools_become_0_and_1) {
  enter();
  bytes b = file_of(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }", 0x76, "\0\1\2\xff", 4);
  check_loads(&b, SMELT_BOOL, 1, (int64_t[]){4}, "\0\1\1\1", 4);
  leave();
}

TEST(trailing_data_is_ignored) {
  enter();
  bytes b = file_of(1, DICT_F4, 0x76, six, sizeof six);
  append(&b, "more", 4);
  check_loads(&b, SMELT_F32, 2, two_three, six, sizeof six);
  leave();
}

/* --- Spellings of the header --------------------------------------------------------- */

TEST(spellings_accepted) {
  enter();
  check_dict_accepted("{'descr':'|i1','fortran_order':False,'shape':(1,)}");
  check_dict_accepted("{\"shape\": (1,), \"descr\": \"<i1\", \"fortran_order\": True}");
  check_dict_accepted(" {\n\t'shape' : ( 1 , ) ,\n 'fortran_order' : False , 'descr' : '>i1' , } \n");
  check_dict_accepted("{'descr': '=i1', 'fortran_order': False, 'shape': (1L,), }");
  check_dict_accepted("{'descr': 'i1', 'fortran_order': False, 'shape': (1,), }");
  leave();
}

#define ORDER "'fortran_order': False, "
TEST(malformed_headers) {
  enter();
  check_dict_refused("", SMELT_ERR_FORMAT, "offset 256: expected '{'");
  check_dict_refused("[1]", SMELT_ERR_FORMAT, "offset 10: expected '{'");
  check_dict_refused("{'descr': '|i1', " ORDER "'shape': (1,)", SMELT_ERR_FORMAT,
                     "offset 256: expected ',' or '}'");
  check_dict_refused("{'descr': '|i1', " ORDER "'shape': (1,)} x", SMELT_ERR_FORMAT,
                     "nothing but white space");
  check_dict_refused("{'descr': '|i1', " ORDER "}", SMELT_ERR_FORMAT, "no key 'shape'");
  check_dict_refused("{'descr': '|i1', 'shape': (1,)}", SMELT_ERR_FORMAT, "no key 'fortran_order'");
  check_dict_refused("{" ORDER "'shape': (1,)}", SMELT_ERR_FORMAT, "no key 'descr'");
  check_dict_refused("{" ORDER ORDER "}", SMELT_ERR_FORMAT, "key 'fortran_order' twice");
  check_dict_refused("{'color': 'red'}", SMELT_ERR_FORMAT, "unknown key 'color'");
  check_dict_refused("{'descr' '|i1'}", SMELT_ERR_FORMAT, "offset 19: expected ':'");
  check_dict_refused("{descr: '|i1'}", SMELT_ERR_FORMAT, "offset 11: expected a key or '}'");
  check_dict_refused("{'descr': None}", SMELT_ERR_FORMAT, "type string for 'descr'");
  check_dict_refused("{'descr: 1}", SMELT_ERR_FORMAT, "a closing quote");
  check_dict_refused("{'des\\x63r': 1}", SMELT_ERR_FORMAT, "a closing quote");
  check_dict_refused("{'descr': [('a', '<f4')", SMELT_ERR_FORMAT, "a closing bracket");
  check_dict_refused("{'fortran_order': 0, ", SMELT_ERR_FORMAT, "True or False for 'fortran_order'");
  check_dict_refused("{'fortran_order': Falsey, ", SMELT_ERR_FORMAT, "offset 33: expected ',' or '}'");
  leave();
}

TEST(malformed_shapes) {
  enter();
#define SHAPE(s) "{'descr': '|i1', " ORDER "'shape': " s "}"
  check_dict_refused(SHAPE("(-1,)"), SMELT_ERR_FORMAT, "not negative");
  check_dict_refused(SHAPE("(1)"), SMELT_ERR_FORMAT, "a tuple");
  check_dict_refused(SHAPE("[1,]"), SMELT_ERR_FORMAT, "a tuple");
  check_dict_refused(SHAPE("1"), SMELT_ERR_FORMAT, "a tuple");
  check_dict_refused(SHAPE("(,)"), SMELT_ERR_FORMAT, "an extent");
  check_dict_refused(SHAPE("(1,,1)"), SMELT_ERR_FORMAT, "an extent");
  check_dict_refused(SHAPE("(1 1)"), SMELT_ERR_FORMAT, "',' or ')'");
  check_dict_refused(SHAPE("(01,)"), SMELT_ERR_FORMAT, "leading zeros");
  check_dict_refused(SHAPE("(1.0,)"), SMELT_ERR_FORMAT, "',' or ')'");
  check_dict_refused(SHAPE("(True,)"), SMELT_ERR_FORMAT, "an extent");
  check_dict_refused(SHAPE("(9223372036854775808,)"), SMELT_ERR_SHAPE, "too large");
  check_dict_refused(SHAPE("(99999999999999999999999999,)"), SMELT_ERR_SHAPE, "too large");
  check_dict_refused(SHAPE("(4294967296, 4294967296)"), SMELT_ERR_SHAPE,
                     "i8[4294967296,4294967296] is too large");
  check_dict_refused(SHAPE("(4294967296, 4294967296, 0)"), SMELT_ERR_SHAPE, "too large");
  check_dict_refused(SHAPE("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), SMELT_ERR_SHAPE, "more than 16 axes");
  leave();
}

/* As NumPy writes np.array([1, -0.0, 65504, 2**-24, inf], np.float16). */
TEST(halves) {
  enter();
  static const uint16_t five[] = {0x3c00, 0x8000, 0x7bff, 1, 0x7c00};
  bytes b = file_of(1, "{'descr': '<f2', " ORDER "'shape': (5,)}", 246, five, sizeof five);
  check_loads(&b, SMELT_F16, 1, (int64_t[]){5}, five, sizeof five);
  smelt_tensor *t = smelt_from_host(ctx, SMELT_BF16, 1, (int64_t[]){5}, five);
  CHECK_STATUS(smelt_npy_save(t, path_of("out.npy"), &err), SMELT_ERR_DTYPE);
  CHECK_CONTAINS(err.text, "bf16");
  CHECK_CONTAINS(err.text, "out.npy");
  smelt_drop(t);
  leave();
}

TEST(foreign_dtypes) {
  enter();
#define DESCR(d) "{'descr': " d ", " ORDER "'shape': (1,)}"
  check_dict_refused(DESCR("'|O'"), SMELT_ERR_DTYPE, "descr '|O' is Python objects");
  check_dict_refused(DESCR("'<c8'"), SMELT_ERR_DTYPE, "descr '<c8' is complex numbers");
  check_dict_refused(DESCR("'<U2'"), SMELT_ERR_DTYPE, "descr '<U2' is text");
  check_dict_refused(DESCR("'|S10'"), SMELT_ERR_DTYPE, "descr '|S10' is text");
  check_dict_refused(DESCR("'<M8[s]'"), SMELT_ERR_DTYPE, "descr '<M8[s]' is times");
  check_dict_refused(DESCR("'|V4'"), SMELT_ERR_DTYPE, "descr '|V4' is raw records");
  check_dict_refused(DESCR("'<f16'"), SMELT_ERR_DTYPE, "descr '<f16'");
  check_dict_refused(DESCR("'<i3'"), SMELT_ERR_DTYPE, "descr '<i3'");
  check_dict_refused(DESCR("''"), SMELT_ERR_DTYPE, "descr ''");
  check_dict_refused(DESCR("'<'"), SMELT_ERR_DTYPE, "descr '<'");
  check_dict_refused(DESCR("[('a', '<f4'), ('b]', '<i8', (2,))]"), SMELT_ERR_DTYPE, "a structured type");
  check_dict_refused(DESCR("('<f4', (2,))"), SMELT_ERR_DTYPE, "a structured type");
  leave();
}

/* --- Damaged files ------------------------------------------------------------------------ */

TEST(every_truncation_is_refused) {
  enter();
  bytes whole = file_of(1, DICT_F4, 0x76, six, sizeof six);
  for (size_t n = 0; n < whole.n; n++) {
    bytes b = whole;
    b.n = n;
    check_refused(&b, SMELT_ERR_FORMAT, n < 6 ? "not a .npy file" : "truncated");
  }
  whole.n--;
  check_refused(&whole, SMELT_ERR_FORMAT, "f32[2,3] needs 24 bytes of data, 23 are there");
  leave();
}

/* Whatever one byte becomes, the answer is a tensor or an error. */
TEST(every_damaged_byte_is_answered) {
  enter();
  static const unsigned char values[] = {0, 1, ' ', '\'', '(', '9', '}', 0x80, 0xff};
  bytes whole = file_of(1, DICT_F4, 0x76, six, sizeof six);
  for (size_t i = 0; i < 10 + strlen(DICT_F4); i++) {
    for (size_t k = 0; k < sizeof values; k++) {
      bytes b = whole;
      b.data[i] = values[k];
      smelt_tensor *t;
      smelt_status status = load_bytes(&b, &t);
      CHECK((status == SMELT_OK) == (t != NULL));
      smelt_drop(t);
    }
  }
  leave();
}

TEST(bad_prefix) {
  enter();
  bytes b = file_of(1, DICT_F4, 0x76, six, sizeof six);
  b.data[0] = 'P';
  check_refused(&b, SMELT_ERR_FORMAT, "not a .npy file");
  b = file_of(4, DICT_F4, 0x76, six, sizeof six);
  check_refused(&b, SMELT_ERR_FORMAT, "format version 4.0");
  b = file_of(1, DICT_F4, 0x76, six, sizeof six);
  b.data[7] = 1;
  check_refused(&b, SMELT_ERR_FORMAT, "format version 1.1");
  b.data[7] = 0;
  b.data[9] = 0xff;
  check_refused(&b, SMELT_ERR_FORMAT, "the header ends at offset 65408, the file at 152");
  b = file_of(2, DICT_F4, 0x76, six, sizeof six);
  memset(b.data + 8, 0xff, 4);
  check_refused(&b, SMELT_ERR_FORMAT, "header of 4294967295 bytes");
  leave();
}

/* --- Things that are no regular files ------------------------------------------------------- */

static void check_path_refused(const char *path, const char *part) {
  smelt_tensor *t;
  CHECK_STATUS(smelt_npy_load(ctx, path, &t, &err), SMELT_ERR_IO);
  CHECK(t == NULL);
  CHECK_CONTAINS(err.text, path);
  CHECK_CONTAINS(err.text, part);
}

TEST(not_regular_files) {
  enter();
  check_path_refused(path_of("missing.npy"), "No such file or directory");
  check_path_refused(folder, "it is a directory");
  check_path_refused("/dev/null", "a device or pipe");
  CHECK_I64(mkfifo(path_of("fifo"), 0600), 0);
  check_path_refused(path_of("fifo"), "a device or pipe");
  leave();
}

TEST(null_arguments) {
  enter();
  smelt_tensor *t = (smelt_tensor *)&t;
  CHECK_STATUS(smelt_npy_load(NULL, "x", &t, &err), SMELT_ERR_ARGUMENT);
  CHECK(t == NULL);
  CHECK_STATUS(smelt_npy_load(ctx, NULL, &t, &err), SMELT_ERR_ARGUMENT);
  CHECK_STATUS(smelt_npy_load(ctx, "x", NULL, NULL), SMELT_ERR_ARGUMENT);
  t = smelt_scalar_f64(1);
  CHECK_STATUS(smelt_npy_save(t, NULL, &err), SMELT_ERR_ARGUMENT);
  smelt_drop(t);
  leave();
}

TEST(long_paths_keep_the_reason) {
  enter();
  char path[1200];
  memset(path, 'x', sizeof path);
  for (int i = 0; i < 1200; i += 100) path[i] = '/';
  path[sizeof path - 1] = 0;
  smelt_tensor *t;
  CHECK_STATUS(smelt_npy_load(ctx, path, &t, &err), SMELT_ERR_IO);
  CHECK_CONTAINS(err.text, "No such file or directory");
  leave();
}

/* --- Saving ------------------------------------------------------------------------------------ */

static smelt_tensor *six_tensor(void) { return smelt_from_host(ctx, SMELT_F32, 2, two_three, six); }

static void save_six(const char *path) {
  smelt_tensor *t = six_tensor();
  CHECK_OK(smelt_npy_save(t, path, &err), err);
  smelt_drop(t);
}

static void check_saves(smelt_dtype dtype, int rank, const int64_t *dims, const void *data, const char *dict,
                        size_t n) {
  smelt_tensor *t = smelt_from_host(ctx, dtype, rank, dims, data);
  CHECK_OK(smelt_npy_save(t, path_of("out.npy"), &err), err);
  smelt_drop(t);
  bytes want = file_of(1, dict, 0x76, data, n), got = fetch(path_of("out.npy"));
  check_bytes(&got, want.data, want.n);
  check_loads(&got, dtype, rank, dims, data, n);
}

/* Also the round trip: what is written is loaded again. */
TEST(saves_as_numpy_does) {
  enter();
  static const uint64_t words[] = {0x0102030405060708, 0, UINT64_MAX, 0x8000000000000001};
  check_saves(SMELT_F32, 2, two_three, six, DICT_F4, sizeof six);
  check_saves(SMELT_F64, 0, NULL, (double[]){2.5}, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
              8);
  check_saves(SMELT_I8, 2, (int64_t[]){0, 3}, "",
              "{'descr': '|i1', 'fortran_order': False, 'shape': (0, 3), }", 0);
  check_saves(SMELT_BOOL, 1, (int64_t[]){2}, "\1\0",
              "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", 2);
#define SAVES(id, name)                                                         \
  check_saves(SMELT_##id, 1, (int64_t[]){2}, words,                             \
              "{'descr': '" name "', 'fortran_order': False, 'shape': (2,), }", \
              2 * smelt_dtype_size(SMELT_##id));
  /* Statements without semicolons. */
  // clang-format off
  SAVES(I8, "|i1")
  SAVES(I16, "<i2")
  SAVES(I32, "<i4")
  SAVES(I64, "<i8")
  SAVES(U8, "|u1")
  SAVES(U16, "<u2")
  SAVES(U32, "<u4")
  SAVES(U64, "<u8")
  SAVES(F32, "<f4")
  SAVES(F64, "<f8")
  // clang-format on
  CHECK_I64(count_files(false), 2);
  leave();
}

TEST(long_header_fills_one_more_line) {
  enter();
  int64_t dims[16];
  for (int i = 0; i < 16; i++) dims[i] = i ? 1000000 : 0;
  for (int i = 4; i < 16; i++) dims[i] = 1;
  smelt_tensor *t = smelt_from_host(ctx, SMELT_U8, 16, dims, NULL), *back;
  CHECK_STATUS(smelt_check(t, &err), SMELT_ERR_SHAPE);
  smelt_drop(t);
  dims[3] = 1;
  t = smelt_from_host(ctx, SMELT_U8, 16, dims, NULL);
  CHECK_OK(smelt_npy_save(t, path_of("out.npy"), &err), err);
  CHECK_I64(fetch(path_of("out.npy")).n % 64, 0);
  CHECK_OK(smelt_npy_load(ctx, path_of("out.npy"), &back, &err), err);
  CHECK_I64(smelt_rank(back), 16);
  smelt_drop(t);
  smelt_drop(back);
  leave();
}

static void check_saved(mode_t mode) {
  struct stat st;
  save_six(path_of("out.npy"));
  CHECK_I64(stat(path_of("out.npy"), &st), 0);
  CHECK_I64(st.st_mode & 0777, mode);
  CHECK_I64(st.st_size, 152);
  CHECK_I64(count_files(false), 1);
}

TEST(saves_by_umask_and_replaces) {
  enter();
  mode_t old = umask(027);
  check_saved(0640);
  umask(old);
  store(path_of("out.npy"), "old", 3);
  CHECK_I64(chmod(path_of("out.npy"), 0600), 0);
  check_saved(0600); /* what was there keeps its permissions */
  leave();
}

TEST(saves_through_links) {
  enter();
  struct stat st;
  store(path_of("real.npy"), "old", 3);
  CHECK_I64(symlink("real.npy", path_of("link.npy")), 0);
  save_six(path_of("link.npy"));
  CHECK(lstat(path_of("link.npy"), &st) == 0 && S_ISLNK(st.st_mode));
  CHECK_I64(fetch(path_of("real.npy")).n, 152);
  CHECK_I64(symlink("nothing", path_of("dangling.npy")), 0);
  smelt_tensor *t = six_tensor();
  CHECK_STATUS(smelt_npy_save(t, path_of("dangling.npy"), &err), SMELT_ERR_IO);
  smelt_drop(t);
  CHECK_I64(count_files(false), 3);
  leave();
}

static void check_save_fails(const char *path, smelt_status status, const char *part) {
  smelt_tensor *t = six_tensor();
  CHECK_STATUS(smelt_npy_save(t, path, &err), status);
  CHECK_CONTAINS(err.text, path);
  CHECK_CONTAINS(err.text, part);
  smelt_drop(t);
}

TEST(failed_saves_leave_nothing) {
  enter();
  check_save_fails(path_of("no/such/folder.npy"), SMELT_ERR_IO, "No such file or directory");
  check_save_fails(folder, SMELT_ERR_IO, "Is a directory");
  CHECK_I64(count_files(false), 0);
  smelt_tensor *bad = smelt_from_host(ctx, SMELT_F32, 1, (int64_t[]){-1}, six);
  CHECK_STATUS(smelt_npy_save(bad, path_of("out.npy"), &err), SMELT_ERR_SHAPE);
  smelt_drop(bad);
  CHECK_I64(count_files(false), 0);
  leave();
}

/* The disk is full after 100 bytes. */
TEST(full_disk_keeps_the_old_file) {
  enter();
  store(path_of("out.npy"), "old", 3);
  (void)signal(SIGXFSZ, SIG_IGN);
  struct rlimit before, small;
  CHECK_I64(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 100;
  CHECK_I64(setrlimit(RLIMIT_FSIZE, &small), 0);
  smelt_tensor *t = six_tensor();
  smelt_status status = smelt_npy_save(t, path_of("out.npy"), &err);
  CHECK_I64(setrlimit(RLIMIT_FSIZE, &before), 0);
  smelt_drop(t);
  CHECK_STATUS(status, SMELT_ERR_IO);
  CHECK_CONTAINS(err.text, "File too large");
  bytes got = fetch(path_of("out.npy"));
  check_bytes(&got, "old", 3);
  CHECK_I64(count_files(false), 1);
  leave();
}

TEST(devices_and_pipes_are_written_directly) {
  enter();
  if (access("/dev/full", W_OK) == 0) check_save_fails("/dev/full", SMELT_ERR_IO, "No space left on device");
  save_six("/dev/null");
  struct stat st;
  CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
  CHECK_I64(mkfifo(path_of("fifo"), 0600), 0);
  int reader = open(path_of("fifo"), O_RDONLY | O_NONBLOCK);
  CHECK(reader >= 0);
  save_six(path_of("fifo"));
  bytes got = {.n = 0}, want = file_of(1, DICT_F4, 0x76, six, sizeof six);
  got.n = (size_t)read(reader, got.data, sizeof got.data);
  check_bytes(&got, want.data, want.n);
  CHECK_I64(close(reader), 0);
  CHECK_I64(count_files(false), 1);
  leave();
}

TEST(no_descriptors_are_left_open) {
  enter();
  int first = dup(0);
  (void)close(first);
  smelt_tensor *t;
  save_six(path_of("out.npy"));
  CHECK_OK(smelt_npy_load(ctx, path_of("out.npy"), &t, &err), err);
  smelt_drop(t);
  check_path_refused(folder, "directory");
  check_save_fails("/dev/full", SMELT_ERR_IO, "/dev/full");
  int again = dup(0);
  (void)close(again);
  CHECK_I64(again, first);
  leave();
}

TEST_MAIN(CASE(c_order), CASE(fortran_order), CASE(fortran_order_large), CASE(big_endian),
          CASE(formats_2_and_3), CASE(empty_and_full_rank), CASE(bools_become_0_and_1),
          CASE(trailing_data_is_ignored), CASE(spellings_accepted), CASE(malformed_headers),
          CASE(malformed_shapes), CASE(halves), CASE(foreign_dtypes), CASE(every_truncation_is_refused),
          CASE(every_damaged_byte_is_answered), CASE(bad_prefix), CASE(not_regular_files),
          CASE(null_arguments), CASE(long_paths_keep_the_reason), CASE(saves_as_numpy_does),
          CASE(long_header_fills_one_more_line), CASE(saves_by_umask_and_replaces), CASE(saves_through_links),
          CASE(failed_saves_leave_nothing), CASE(full_disk_keeps_the_old_file),
          CASE(devices_and_pipes_are_written_directly), CASE(no_descriptors_are_left_open))
