/* SPDX-License-Identifier: Apache-2.0
 *
 * Types that a text names: dtypes by their own names, vectors as structs of lanes. */
#include "codegen/c_family_printer.h"

static bool same_type(sm_kir_type a, sm_kir_type b) { return a.dtype == b.dtype && a.width == b.width; }

sm_c_vector *sm_c_vector_of(sm_c_printer *p, sm_kir_type type) {
  for (size_t i = 0; i < p->vectors.len; i++) {
    if (same_type(p->vectors.items[i].type, type)) return &p->vectors.items[i];
  }
  if (sm_vec_push(p->kernel->allocator, &p->vectors, (sm_c_vector){.type = type}))
    return &p->vectors.items[p->vectors.len - 1];
  p->failed = true;
  return NULL;
}

void sm_c_type(sm_c_printer *p, smelt_dtype dtype, int width) {
  p->dtypes[dtype] = true;
  if (!p->dialect->types[dtype]) p->missing = smelt_dtype_name(dtype);
  sm_text_add(p->text, smelt_dtype_name(dtype));
  if (width == 1) return;
  sm_text_addf(p->text, "x%d", width);
  (void)sm_c_vector_of(p, (sm_kir_type){dtype, (uint16_t)width});
}

static unsigned vector_bytes(sm_kir_type type) { return type.width * (unsigned)smelt_dtype_size(type.dtype); }

/* What one access can have. */
static unsigned vector_alignment(sm_kir_type type) {
  enum { WIDEST = 16 };
  return vector_bytes(type) < WIDEST ? vector_bytes(type) : WIDEST;
}

bool sm_c_is_wide(const sm_c_printer *p, sm_kir_type type) {
  unsigned bytes = vector_bytes(type);
  bool power_of_2 = (bytes & (bytes - 1)) == 0;
  return p->dialect->wide_access && type.width > 1 && power_of_2 && type.dtype != SMELT_BOOL;
}

static void add_vector(sm_c_printer *p, const sm_c_vector *v) {
  if (sm_c_native_type(p, v->type)) return;
  const char *element = smelt_dtype_name(v->type.dtype);
  sm_text_add(p->text, "typedef struct ");
  if (sm_c_is_wide(p, v->type)) sm_text_addf(p->text, p->dialect->vector, (int)vector_alignment(v->type));
  sm_text_addf(p->text, "{ %s l[%d]; } %sx%d;\n", element, v->type.width, element, v->type.width);
}

static void add_read(sm_c_printer *p, const sm_c_vector *v) {
  const char *element = smelt_dtype_name(v->type.dtype), *space = p->dialect->global;
  int width = v->type.width;
  sm_text_addf(p->text, "%s%sx%d read_%sx%d(%s%s const* p) {\n", p->dialect->function, element, width,
               element, width, space, element);
  sm_text_addf(p->text, "  %sx%d v;\n", element, width);
  sm_text_addf(p->text, "  if ((size_t)p %% %u == 0) v = *(%s%sx%d const*)p;\n", vector_alignment(v->type),
               space, element, width);
  sm_text_addf(p->text, "  else LANES(%d) v.l[l] = p[l];\n  return v;\n}\n", width);
}

static void add_write(sm_c_printer *p, const sm_c_vector *v) {
  const char *element = smelt_dtype_name(v->type.dtype), *space = p->dialect->global;
  int width = v->type.width;
  sm_text_addf(p->text, "%svoid write_%sx%d(%s%s *p, %sx%d v) {\n", p->dialect->function, element, width,
               space, element, element, width);
  sm_text_addf(p->text, "  if ((size_t)p %% %u == 0) *(%s%sx%d *)p = v;\n", vector_alignment(v->type), space,
               element, width);
  sm_text_addf(p->text, "  else LANES(%d) p[l] = v.l[l];\n}\n", width);
}

void sm_c_types(sm_c_printer *p) {
  for (int i = 0; i < SM_DTYPE_LIMIT; i++) {
    const char *type = p->dialect->types[i];
    if (p->dtypes[i] && type && i != SMELT_BOOL)
      sm_text_addf(p->text, "typedef %s %s;\n", type, smelt_dtype_name((smelt_dtype)i));
  }
  for (size_t i = 0; i < p->vectors.len; i++) add_vector(p, &p->vectors.items[i]);
  if (p->lanes)
    sm_text_addf(p->text, "#define LANES(n) %sfor (int l = 0; l < (n); l++)\n", p->dialect->unroll);
  sm_c_native_functions(p);
  for (size_t i = 0; i < p->vectors.len; i++) {
    if (p->vectors.items[i].read) add_read(p, &p->vectors.items[i]);
    if (p->vectors.items[i].written) add_write(p, &p->vectors.items[i]);
  }
}
