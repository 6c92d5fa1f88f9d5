/* SPDX-License-Identifier: Apache-2.0 */
#include "rt/object_image.h"

#include <string.h>

#include "rt/relocation.h"

enum { MAX_ALIGNMENT = 4096 };
#define NOT_PLACED UINT64_MAX

/* Newer than some headers. */
enum { SECTION_UNWIND = 0x70000001 /* SHT_X86_64_UNWIND */ };

/* What sections of the image may be; anything else that is allocated, writable
 * or thread-local memory above all, is refused. */
#define ALLOWED_FLAGS \
  ((uint64_t)(SHF_ALLOC | SHF_EXECINSTR | SHF_MERGE | SHF_STRINGS | SHF_INFO_LINK | SHF_GROUP))

typedef sm_object_image object;

#define MALFORMED(o, ...) sm_error_set((o)->err, SMELT_ERR_FORMAT, "object code: " __VA_ARGS__)
#define REFUSED(o, ...) sm_error_set((o)->err, SMELT_ERR_UNSUPPORTED, "object code: " __VA_ARGS__)

/* Objects need not be aligned in memory, so that everything is copied out. */
static bool read_at(const object *o, uint64_t offset, void *out, size_t n) {
  if (offset > o->size || n > o->size - offset) return false;
  memcpy(out, o->data + offset, n);
  return true;
}

/* --- Header and sections ----------------------------------------------------------- */

static smelt_status read_header(const object *o, Elf64_Ehdr *h) {
  static const unsigned char ident[] = {ELFMAG0,    ELFMAG1,     ELFMAG2,    ELFMAG3,
                                        ELFCLASS64, ELFDATA2LSB, EV_CURRENT, ELFOSABI_NONE};
  if (!read_at(o, 0, h, sizeof *h)) return MALFORMED(o, "shorter than its header");
  if (memcmp(h->e_ident, ident, sizeof ident) != 0) return MALFORMED(o, "no 64-bit ELF");
  if (h->e_type != ET_REL || h->e_version != EV_CURRENT) return MALFORMED(o, "not relocatable");
  if (h->e_machine != o->machine) return REFUSED(o, "for another machine (%d)", h->e_machine);
  if (h->e_shentsize != sizeof(Elf64_Shdr)) return MALFORMED(o, "section headers of another size");
  if (h->e_shnum == 0 || h->e_shnum > SM_CODE_MAX_SECTIONS) return REFUSED(o, "%d sections", h->e_shnum);
  return SMELT_OK;
}

/* Types that are known to need nothing further. Others might hold relocations
 * or symbol indices that must not be overlooked. */
static bool known_type(const object *o, const Elf64_Shdr *s) {
  switch (s->sh_type) {
    case SHT_NULL:
    case SHT_PROGBITS:
    case SHT_NOBITS:
    case SHT_NOTE:
    case SHT_SYMTAB:
    case SHT_STRTAB:
    case SHT_REL:
    case SHT_RELA:
    case SHT_GROUP:
      return true;
    case SECTION_UNWIND:
      return o->machine == EM_X86_64;
    default:
      return (s->sh_flags & SHF_ALLOC) == 0 && s->sh_type >= SHT_LOOS;
  }
}

static bool has_bytes(const Elf64_Shdr *s) { return s->sh_type != SHT_NULL && s->sh_type != SHT_NOBITS; }

static smelt_status read_section(const object *o, uint64_t at, size_t i, Elf64_Shdr *s) {
  if (!read_at(o, at + i * sizeof *s, s, sizeof *s)) return MALFORMED(o, "section headers outside");
  if (!known_type(o, s)) return REFUSED(o, "section %zu has type %#x", i, s->sh_type);
  if (has_bytes(s) && (s->sh_offset > o->size || s->sh_size > o->size - s->sh_offset)) {
    return MALFORMED(o, "section %zu is outside", i);
  }
  return SMELT_OK;
}

static smelt_status place_section(object *o, size_t i) {
  const Elf64_Shdr *s = &o->sections[i];
  uint64_t alignment = s->sh_addralign ? s->sh_addralign : 1;
  o->place[i] = NOT_PLACED;
  if (!(s->sh_flags & SHF_ALLOC) || s->sh_size == 0) return SMELT_OK;
  if (s->sh_flags & ~ALLOWED_FLAGS) return REFUSED(o, "section %zu is not code or read-only data", i);
  if (s->sh_type != SHT_PROGBITS) return SMELT_OK;
  if (alignment & (alignment - 1)) return MALFORMED(o, "alignment of section %zu", i);
  if (alignment > MAX_ALIGNMENT) return REFUSED(o, "alignment of section %zu", i);
  uint64_t at = (o->image_bytes + alignment - 1) & ~(alignment - 1);
  if (at > SM_CODE_MAX_BYTES || s->sh_size > SM_CODE_MAX_BYTES - at) return REFUSED(o, "too large");
  o->place[i] = at;
  o->image_bytes = (size_t)(at + s->sh_size);
  return SMELT_OK;
}

static smelt_status read_sections(object *o) {
  Elf64_Ehdr header;
  SM_TRY(read_header(o, &header));
  if (header.e_shoff > o->size) return MALFORMED(o, "section headers outside");
  o->n_sections = header.e_shnum;
  for (size_t i = 0; i < o->n_sections; i++) {
    SM_TRY(read_section(o, header.e_shoff, i, &o->sections[i]));
    SM_TRY(place_section(o, i));
  }
  return SMELT_OK;
}

/* --- Symbols --------------------------------------------------------------------------- */

static smelt_status find_symbols(object *o) {
  for (size_t i = 1; i < o->n_sections; i++) {
    if (o->sections[i].sh_type != SHT_SYMTAB) continue;
    if (o->symbols) return MALFORMED(o, "two symbol tables");
    o->symbols = i;
  }
  const Elf64_Shdr *table = &o->sections[o->symbols];
  if (!o->symbols) return MALFORMED(o, "no symbol table");
  if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_size % sizeof(Elf64_Sym)) {
    return MALFORMED(o, "symbols of another size");
  }
  if (table->sh_link >= o->n_sections) return MALFORMED(o, "no names of symbols");
  const Elf64_Shdr *names = &o->sections[table->sh_link];
  if (names->sh_type != SHT_STRTAB || names->sh_size == 0) return MALFORMED(o, "no names of symbols");
  o->names = (const char *)o->data + names->sh_offset;
  o->names_size = names->sh_size;
  return o->names[o->names_size - 1] == 0 ? SMELT_OK : MALFORMED(o, "names of symbols do not end");
}

static uint64_t symbol_count(const object *o) { return o->sections[o->symbols].sh_size / sizeof(Elf64_Sym); }

static smelt_status read_symbol(const object *o, uint64_t i, Elf64_Sym *symbol) {
  if (i >= symbol_count(o))
    return MALFORMED(o, "symbol %#llx of %#llx", (unsigned long long)i, (unsigned long long)symbol_count(o));
  uint64_t at = o->sections[o->symbols].sh_offset + i * sizeof *symbol;
  if (!read_at(o, at, symbol, sizeof *symbol)) return MALFORMED(o, "symbols outside");
  return symbol->st_name < o->names_size ? SMELT_OK : MALFORMED(o, "a symbol's name is outside");
}

/* Special section numbers (absolute, common, extended) are no indices. */
static bool in_placed_section(const object *o, const Elf64_Sym *symbol) {
  return symbol->st_shndx < o->n_sections && o->place[symbol->st_shndx] != NOT_PLACED;
}

/* Other symbols can have the same name, that of the source file for one. */
static bool is_entry(const object *o, const Elf64_Sym *symbol, const char *name) {
  if (symbol->st_info != ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)) return false;
  if (strcmp(o->names + symbol->st_name, name) != 0 || !in_placed_section(o, symbol)) return false;
  const Elf64_Shdr *s = &o->sections[symbol->st_shndx];
  return (s->sh_flags & SHF_EXECINSTR) && symbol->st_value < s->sh_size;
}

/* Looks at all symbols. */
static smelt_status find_entry(object *o, const char *name) {
  bool found = false;
  for (uint64_t i = 1; i < symbol_count(o); i++) {
    Elf64_Sym symbol;
    SM_TRY(read_symbol(o, i, &symbol));
    if (symbol.st_shndx == SHN_UNDEF) {
      return REFUSED(o, "undefined symbol \"%.100s\"", o->names + symbol.st_name);
    }
    if (found || !is_entry(o, &symbol, name)) continue;
    o->entry = o->place[symbol.st_shndx] + symbol.st_value;
    found = true;
  }
  return found ? SMELT_OK : MALFORMED(o, "no function \"%.100s\"", name);
}

/* --- Relocations ------------------------------------------------------------------------- */

/* Where in the image a relocation's symbol is. */
static smelt_status locate_symbol(const object *o, uint64_t i, uint64_t *out) {
  Elf64_Sym symbol;
  SM_TRY(read_symbol(o, i, &symbol));
  if (!in_placed_section(o, &symbol) || ELF64_ST_TYPE(symbol.st_info) > STT_SECTION) {
    return REFUSED(o, "relocation to what is not placed");
  }
  if (symbol.st_value > o->sections[symbol.st_shndx].sh_size) return MALFORMED(o, "a symbol is outside");
  *out = o->place[symbol.st_shndx] + symbol.st_value;
  return SMELT_OK;
}

/* Addresses are computed modulo 2^64. */
static smelt_status relocate(const object *o, unsigned char *image, uint64_t address, size_t section,
                             const Elf64_Rela *r) {
  uint64_t symbol;
  const sm_relocation *kind = sm_relocation_find(o->machine, ELF64_R_TYPE(r->r_info));
  if (!kind) return REFUSED(o, "relocation of type %d", (int)ELF64_R_TYPE(r->r_info));
  SM_TRY(locate_symbol(o, ELF64_R_SYM(r->r_info), &symbol));
  uint64_t size = o->sections[section].sh_size, at = o->place[section] + r->r_offset;
  size_t width = sm_relocation_width(kind);
  if (size < width || r->r_offset > size - width) return MALFORMED(o, "a relocation is outside");
  const char *fault =
      sm_relocation_apply(kind, image + at, address + at, address + symbol + (uint64_t)r->r_addend);
  return fault ? REFUSED(o, "a relocation %s", fault) : SMELT_OK;
}

/* Applies section `table` if its relocations concern the image. */
static smelt_status apply_relocations(const object *o, unsigned char *image, uint64_t address, size_t table) {
  const Elf64_Shdr *s = &o->sections[table];
  if (s->sh_type != SHT_RELA && s->sh_type != SHT_REL) return SMELT_OK;
  if (s->sh_info >= o->n_sections) return MALFORMED(o, "relocations of no section");
  if (o->place[s->sh_info] == NOT_PLACED) return SMELT_OK;
  if (s->sh_type == SHT_REL) return REFUSED(o, "relocations without addends");
  if (s->sh_link != o->symbols) return MALFORMED(o, "relocations without symbols");
  if (s->sh_entsize != sizeof(Elf64_Rela) || s->sh_size % sizeof(Elf64_Rela)) {
    return MALFORMED(o, "relocations of another size");
  }
  for (uint64_t i = 0; i < s->sh_size; i += sizeof(Elf64_Rela)) {
    Elf64_Rela r;
    if (!read_at(o, s->sh_offset + i, &r, sizeof r)) return MALFORMED(o, "relocations outside");
    SM_TRY(relocate(o, image, address, s->sh_info, &r));
  }
  return SMELT_OK;
}

/* --- The image ------------------------------------------------------------------------------ */

smelt_status sm_object_image_read(sm_object_image *out, const void *data, size_t size, uint16_t machine,
                                  const char *entry, smelt_error *err) {
  *out = (sm_object_image){.data = data, .size = size, .machine = machine, .err = err};
  SM_TRY(read_sections(out));
  SM_TRY(find_symbols(out));
  return find_entry(out, entry);
}

smelt_status sm_object_image_fill(const sm_object_image *o, unsigned char *image, uint64_t address) {
  for (size_t i = 0; i < o->n_sections; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    if (o->place[i] != NOT_PLACED) memcpy(image + o->place[i], o->data + s->sh_offset, s->sh_size);
  }
  for (size_t i = 0; i < o->n_sections; i++) SM_TRY(apply_relocations(o, image, address, i));
  return SMELT_OK;
}
