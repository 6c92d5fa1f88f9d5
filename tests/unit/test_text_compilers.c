/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of the C family and the compilers they are for, as far as those are installed.
 * C is run and compared with the evaluator; CUDA is compiled by nvcc and NVRTC, OpenCL C by clang. Metal is
 * compiled as C++, with a header that stands for its library, and run thread by thread. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "codegen/llvm_codegen.h"

#include "compiled_text.h"
#include "operation_kernels.h"

enum { WIDTH = 4, WHOLE = ELEMENTS / WIDTH * WIDTH, GRAIN = 2 * WIDTH };

/* What is done with the kernel of all operations from one dtype. */
typedef void visit_fn(const sm_kir_kernel *k, const operation *list, int n, void *user);

static void visit_operations(bool f64, visit_fn *visit, void *user) {
  operation list[MOST_BUFFERS] = {{SM_KOP_NONE, SMELT_DTYPE_NONE, SMELT_DTYPE_NONE}};
  for (int dtype = 1; dtype < SM_DTYPE_LIMIT; dtype++) {
    sm_kir_kernel k;
    int n = list_operations((smelt_dtype)dtype, f64, list);
    if (!n) continue;
    build_operations(&k, list, n, WIDTH, true);
    visit(&k, list, n, user);
    sm_kir_free(&k);
  }
}

/* --- C ------------------------------------------------------------------------------------ */

typedef struct compiled_c {
  void *library;
  sm_kernel_fn *entry;
} compiled_c;

static compiled_c compile_c(const sm_kir_kernel *k, sm_text_form form) {
  compiled_c c;
  text_files f = write_text(k, &sm_dialect_c, form, ".c");
  run_compiler(
      "cc -std=c11 -O1 -ffp-contract=off -fno-math-errno -fPIC -shared -Wall -Werror -o %s/out.so %s -lm",
      f.folder, f.source);
  (void)snprintf(f.output, sizeof f.output, "%s/out.so", f.folder);
  c.library = dlopen(f.output, RTLD_NOW | RTLD_LOCAL);
  CHECK(c.library != NULL);
  *(void **)&c.entry = dlsym(c.library, k->name);
  CHECK(c.entry != NULL);
  remove_text(&f);
  return c;
}

static void try_operations(smelt_dtype in, int width) {
  static operation_data data;
  operation list[MOST_BUFFERS] = {{SM_KOP_NONE, SMELT_DTYPE_NONE, SMELT_DTYPE_NONE}};
  int n = list_operations(in, true, list);
  uint64_t state = 88172645463325252u;
  sm_kir_kernel k;
  build_operations(&k, list, n, width, false);
  compiled_c c = compile_c(&k, (sm_text_form){0});
  for (int round = 0; round < 20; round++) {
    prepare_operations(&data, &k, ELEMENTS, &state);
    c.entry(data.buffers, NULL, NULL, 0, ELEMENTS);
    compare_operations(&data, list, n, ELEMENTS);
  }
  (void)dlclose(c.library);
  sm_kir_free(&k);
}

TEST(operations_have_the_same_bits_in_c) {
  for (int dtype = 1; dtype < SM_DTYPE_LIMIT; dtype++) {
    if (sm_dtype_valid((smelt_dtype)dtype)) try_operations((smelt_dtype)dtype, 4);
  }
}

enum { ROWS = 5, COLUMNS = 24 };

static void try_forms(int width, bool narrow) {
  static float in[ROWS * COLUMNS], expected[ROWS * COLUMNS], actual[ROWS * COLUMNS];
  static int64_t expected_places[ROWS * COLUMNS], places[ROWS * COLUMNS];
  const int64_t sizes[] = {COLUMNS, ROWS};
  const sm_word scalars[] = {{.F32 = 1.5f}, {.F32 = 0.25f}, {.F32 = -3}, {.F32 = 7}};
  sm_kir_kernel k;
  smelt_error err;
  build_all_forms(&k, width);
  for (int i = 0; i < ROWS * COLUMNS; i++) in[i] = (float)(i * i % 31) / 8;
  sm_kir_span spans[] = {
      {in, sizeof in}, {expected, sizeof expected}, {expected_places, sizeof expected_places}};
  sm_kir_call call = {
      .buffers = spans, .sizes = sizes, .scalars = scalars, .n_table = 3, .begin = 1, .end = ROWS};
  CHECK_OK(sm_kir_eval(&k, &call, &err), err);
  k.narrow = narrow;
  compiled_c c = compile_c(&k, (sm_text_form){0});
  c.entry((void *[]){in, actual, places}, sizes, scalars, 1, ROWS);
  CHECK(memcmp(actual, expected, sizeof actual) == 0);
  CHECK(memcmp(places, expected_places, sizeof places) == 0);
  (void)dlclose(c.library);
  sm_kir_free(&k);
}

TEST(loops_strides_locals_and_tables) {
  try_forms(1, false);
  try_forms(4, false);
  try_forms(4, true);
}

/* --- CUDA ------------------------------------------------------------------------------------ */

/* In a namespace of its own: each text defines the same names. */
static void append_cuda(const sm_kir_kernel *k, const operation *list, int n, void *user) {
  (void)n;
  char begin[40];
  (void)snprintf(begin, sizeof begin, "namespace of_%s {\n", smelt_dtype_name(list[0].in));
  append_text(user, begin);
  append_kernel(user, k, &sm_dialect_cuda, (sm_text_form){.group = 256});
  append_text(user, "}\n");
}

TEST(cuda_by_nvcc) {
  if (!has_command("nvcc")) TEST_SKIP("there is no nvcc");
  text_files f = make_text_files(".cu");
  visit_operations(true, append_cuda, &f);
  run_compiler("nvcc -ptx -arch=sm_90 --fmad=false -Werror all-warnings -o %s %s", f.output, f.source);
  remove_text(&f);
}

/* Of NVRTC, which needs no header here. */
typedef struct nvrtc {
  int (*create)(void **program, const char *text, const char *name, int n, const char *const *headers,
                const char *const *names);
  int (*compile)(void *program, int n, const char *const *options);
  int (*log)(void *program, char *log);
  int (*code_size)(void *program, size_t *size);
  int (*destroy)(void **program);
} nvrtc;

static bool open_nvrtc(nvrtc *out) {
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                      "/usr/local/cuda/lib64/libnvrtc.so"};
  void *library = NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !library; i++)
    library = dlopen(names[i], RTLD_NOW);
  if (!library) return false;
  *(void **)&out->create = dlsym(library, "nvrtcCreateProgram");
  *(void **)&out->compile = dlsym(library, "nvrtcCompileProgram");
  *(void **)&out->log = dlsym(library, "nvrtcGetProgramLog");
  *(void **)&out->code_size = dlsym(library, "nvrtcGetCUBINSize");
  *(void **)&out->destroy = dlsym(library, "nvrtcDestroyProgram");
  return out->create && out->compile && out->log && out->code_size && out->destroy;
}

static void compile_by_nvrtc(const sm_kir_kernel *k, const operation *list, int n, void *user) {
  static const char *const options[] = {"--gpu-architecture=sm_90", "--fmad=false", "--minimal",
                                        "--Ofast-compile=min"};
  const nvrtc *api = user;
  void *program;
  size_t size = 0;
  sm_text text = text_of(k, &sm_dialect_cuda, (sm_text_form){.group = 256});
  (void)list, (void)n;
  CHECK_I64(api->create(&program, text.data, "kernel.cu", 0, NULL, NULL), 0);
  int result = api->compile(program, 4, options);
  if (result == 5) result = api->compile(program, 2, options); /* an older one */
  if (result != 0) {
    static char log[1 << 16];
    (void)api->log(program, log);
    printf("%.3000s\n", log);
    CHECK(false);
  }
  CHECK_I64(api->code_size(program, &size), 0);
  CHECK(size > 0);
  CHECK_I64(api->destroy(&program), 0);
  sm_text_free(&text);
}

TEST(cuda_by_nvrtc) {
  nvrtc api;
  if (!open_nvrtc(&api)) TEST_SKIP("there is no libnvrtc");
  visit_operations(true, compile_by_nvrtc, &api);
}

/* --- OpenCL ------------------------------------------------------------------------------------ */

static void check_opencl(const sm_kir_kernel *k, const operation *list, int n, void *user) {
  (void)list, (void)n, (void)user;
  text_files f = write_text(k, &sm_dialect_opencl, (sm_text_form){0}, ".cl");
  run_compiler("clang -cl-std=CL1.2 -Xclang -finclude-default-header -fsyntax-only -Wall -Werror %s",
               f.source);
  remove_text(&f);
}

TEST(opencl_by_clang) {
  if (!has_command("clang")) TEST_SKIP("there is no clang");
  visit_operations(true, check_opencl, NULL);
}

/* --- Metal --------------------------------------------------------------------------------------- */

typedef void run_threads_fn(void *const *buffers, void *words, uint32_t threads);

/* Calls the kernel for each thread; arguments become the pointers that it takes. */
static void append_runner(const text_files *f, const sm_kir_kernel *k) {
  sm_text text;
  sm_text_init(&text, &sm_malloc_allocator);
  sm_text_add(&text,
              "struct any_pointer {\n  void *data;\n  template <typename type> operator type *() const { "
              "return static_cast<type *>(data); }\n};\n"
              "extern \"C\" void run_threads(void *const *buffers, void *words, uint threads) {\n"
              "  for (uint thread = 0; thread < threads; thread++)\n    ");
  sm_text_addf(&text, "%s(", k->name);
  for (size_t i = 0; i < k->buffers.len; i++) sm_text_addf(&text, "any_pointer{buffers[%zu]}, ", i);
  sm_text_add(&text, "*static_cast<smelt_words *>(words), thread);\n}\n");
  append_text(f, text.data);
  sm_text_free(&text);
}

static void run_metal(const sm_kir_kernel *k, const operation *list, int n, void *user) {
  static operation_data data;
  int64_t words[] = {WHOLE, GRAIN};
  uint64_t state = 88172645463325252u;
  run_threads_fn *run;
  text_files f = write_text(k, &sm_dialect_msl, (sm_text_form){.group = 256}, ".cpp");
  append_runner(&f, k);
  run_compiler(
      "%s -std=c++17 -O0 -ffp-contract=off -fno-strict-aliasing -w -fPIC -shared -Itests/text/metal -Isrc "
      "-o %s %s",
      (const char *)user, f.output, f.source);
  void *library = dlopen(f.output, RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL);
  *(void **)&run = dlsym(library, "run_threads");
  CHECK(run != NULL);
  for (int round = 0; round < 20; round++) {
    prepare_operations(&data, k, WHOLE, &state);
    run(data.buffers, words, WHOLE / GRAIN + 7); /* some threads have no work */
    compare_operations(&data, list, n, WHOLE);
  }
  (void)dlclose(library);
  remove_text(&f);
}

static void try_metal(char *compiler) {
  if (!has_command(compiler)) TEST_SKIP("the compiler is not installed");
  visit_operations(false, run_metal, compiler);
}

TEST(metal_by_gcc) { try_metal((char[]){"g++"}); }
TEST(metal_by_clang) { try_metal((char[]){"clang++"}); }

/* --- Contraction ------------------------------------------------------------------------------------ */

static void build_sum_of_product(sm_kir_kernel *k) {
  smelt_error err;
  sm_kir_init(k, &sm_malloc_allocator);
  (void)snprintf(k->name, sizeof k->name, "sum_of_product");
  for (int b = 0; b < 4; b++) sm_kir_add_buffer(k, SMELT_F32, b == 3);
  int32_t begin = sm_kir_chunk_begin(k), i = sm_kir_for(k, begin, sm_kir_chunk_end(k), WIDTH), v[3];
  for (int b = 0; b < 3; b++) v[b] = sm_kir_load(k, b, i, SM_KIR_NONE, WIDTH);
  int32_t product = sm_kir_kop(k, SM_KOP_MUL, v[0], v[1], SM_KIR_NONE, SMELT_DTYPE_NONE);
  int32_t sum = sm_kir_kop(k, SM_KOP_ADD, product, v[2], SM_KIR_NONE, SMELT_DTYPE_NONE);
  sm_kir_store(k, 3, i, SM_KIR_NONE, sum);
  sm_kir_end(k);
  CHECK_OK(sm_kir_finish(k, &err), err);
}

/* Whether the compiler, told to contract, may do so in the text; without the lines that the
 * filter deletes. */
static bool may_contract(const text_files *f, const char *filter) {
  char command[120];
  run_compiler(
      "sed '%s' %s | clang++ -ffp-contract=fast -x c++ -std=c++17 -w -Itests/text/metal -Isrc -S -emit-llvm "
      "-o %s -",
      filter, f->source, f->output);
  (void)snprintf(command, sizeof command, "grep -q ' contract ' %s", f->output);
  return system(command) == 0;
}

TEST(metal_forbids_contraction) {
  sm_kir_kernel k;
  if (!has_command("clang++")) TEST_SKIP("there is no clang++");
  build_sum_of_product(&k);
  text_files f = write_text(&k, &sm_dialect_msl, (sm_text_form){.group = 256}, ".cpp");
  CHECK(!may_contract(&f, ""));
  CHECK(may_contract(&f, "/^#pragma clang fp/d"));
  remove_text(&f);
  sm_kir_free(&k);
}

TEST_MAIN(CASE(operations_have_the_same_bits_in_c), CASE(loops_strides_locals_and_tables), CASE(cuda_by_nvcc),
          CASE(cuda_by_nvrtc), CASE(opencl_by_clang), CASE(metal_by_gcc), CASE(metal_by_clang),
          CASE(metal_forbids_contraction))
