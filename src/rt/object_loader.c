/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "rt/object_loader.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_limit.h"

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#else
#define HOST_MACHINE EM_NONE
#endif

/* Newer than some headers. */
enum { MEMORY_FILE_NO_EXECVE = 8 /* MFD_NOEXEC_SEAL */, SECTION_UNWIND = 0x70000001 /* SHT_X86_64_UNWIND */ };

enum { MAX_ALIGNMENT = 4096 };
#define NOT_PLACED UINT64_MAX

/* What sections of the image may be; anything else that is allocated, writable
 * or thread-local memory above all, is refused. */
#define ALLOWED_FLAGS \
  ((uint64_t)(SHF_ALLOC | SHF_EXECINSTR | SHF_MERGE | SHF_STRINGS | SHF_INFO_LINK | SHF_GROUP))

typedef struct object {
  const unsigned char *data;
  size_t size;
  Elf64_Shdr sections[SM_CODE_MAX_SECTIONS];
  uint64_t place[SM_CODE_MAX_SECTIONS]; /* where in the image, or NOT_PLACED */
  size_t n_sections;
  size_t image_size;
  size_t symbols; /* index of the symbol table's section; 0: none */
  const char *names;
  size_t names_size;
  smelt_error *err;
} object;

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
  if (h->e_machine != HOST_MACHINE) return REFUSED(o, "for another machine (%d)", h->e_machine);
  if (h->e_shentsize != sizeof(Elf64_Shdr)) return MALFORMED(o, "section headers of another size");
  if (h->e_shnum == 0 || h->e_shnum > SM_CODE_MAX_SECTIONS) return REFUSED(o, "%d sections", h->e_shnum);
  return SMELT_OK;
}

/* Types that are known to need nothing further. Others might hold relocations
 * or symbol indices that must not be overlooked. */
static bool known_type(const Elf64_Shdr *s) {
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
    case SECTION_UNWIND:
      return true;
    default:
      return (s->sh_flags & SHF_ALLOC) == 0 && s->sh_type >= SHT_LOOS;
  }
}

static bool has_bytes(const Elf64_Shdr *s) { return s->sh_type != SHT_NULL && s->sh_type != SHT_NOBITS; }

static smelt_status read_section(const object *o, uint64_t at, size_t i, Elf64_Shdr *s) {
  if (!read_at(o, at + i * sizeof *s, s, sizeof *s)) return MALFORMED(o, "section headers outside");
  if (!known_type(s)) return REFUSED(o, "section %zu has type %#x", i, s->sh_type);
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
  uint64_t at = (o->image_size + alignment - 1) & ~(alignment - 1);
  if (at > SM_CODE_MAX_BYTES || s->sh_size > SM_CODE_MAX_BYTES - at) return REFUSED(o, "too large");
  o->place[i] = at;
  o->image_size = (size_t)(at + s->sh_size);
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

/* Looks at all symbols: answers where in the image the entry is. */
static smelt_status find_entry(const object *o, const char *name, uint64_t *out) {
  bool found = false;
  for (uint64_t i = 1; i < symbol_count(o); i++) {
    Elf64_Sym symbol;
    SM_TRY(read_symbol(o, i, &symbol));
    if (symbol.st_shndx == SHN_UNDEF) {
      return REFUSED(o, "undefined symbol \"%.100s\"", o->names + symbol.st_name);
    }
    if (found || !is_entry(o, &symbol, name)) continue;
    *out = o->place[symbol.st_shndx] + symbol.st_value;
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

static bool fits_in_32_bits(uint64_t value) {
  int64_t number = (int64_t)value;
  return number >= INT32_MIN && number <= INT32_MAX;
}

/* Sizes of what relocations write; 0 for those that are refused. */
static size_t relocation_width(uint64_t type) {
  switch (type) {
    case R_X86_64_64:
      return 8;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
    case R_X86_64_32S:
      return 4;
    default:
      return 0;
  }
}

/* Addresses are computed modulo 2^64. */
static smelt_status relocate(const object *o, unsigned char *image, uint64_t address, size_t section,
                             const Elf64_Rela *r) {
  uint64_t type = ELF64_R_TYPE(r->r_info), symbol;
  size_t width = relocation_width(type);
  if (!width) return REFUSED(o, "relocation of type %d", (int)type);
  SM_TRY(locate_symbol(o, ELF64_R_SYM(r->r_info), &symbol));
  uint64_t size = o->sections[section].sh_size, at = o->place[section] + r->r_offset;
  if (size < width || r->r_offset > size - width) return MALFORMED(o, "a relocation is outside");
  uint64_t value = address + symbol + (uint64_t)r->r_addend;
  if (type == R_X86_64_PC32 || type == R_X86_64_PLT32) value -= address + at;
  if (width == 4 && !fits_in_32_bits(value)) return REFUSED(o, "a relocation does not fit in 32 bits");
  memcpy(image + at, &value, width);
  return SMELT_OK;
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

/* Writes to `image` what shall stand at `address`. */
static smelt_status fill_image(const object *o, unsigned char *image, uint64_t address) {
  for (size_t i = 0; i < o->n_sections; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    if (o->place[i] != NOT_PLACED) memcpy(image + o->place[i], o->data + s->sh_offset, s->sh_size);
  }
  for (size_t i = 0; i < o->n_sections; i++) SM_TRY(apply_relocations(o, image, address, i));
  return SMELT_OK;
}

static int create_memory_file(size_t size) {
  int fd = memfd_create("smelt-code", MFD_CLOEXEC | MEMORY_FILE_NO_EXECVE);
  if (fd < 0) fd = memfd_create("smelt-code", MFD_CLOEXEC); /* before Linux 6.3 */
  if (fd < 0 || (sm_file_size_allowed(size) && ftruncate(fd, (off_t)size) == 0)) return fd;
  (void)close(fd);
  return -1;
}

/* Maps the file, then fills it with code for the address it got. `image` is the
 * writable copy. */
static smelt_status map_filled(const object *o, int fd, unsigned char *image, size_t size, void **base) {
  *base = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
  if (*base == MAP_FAILED) return REFUSED(o, "memory cannot be made executable");
  smelt_status status = fill_image(o, image, (uintptr_t)*base);
  if (status == SMELT_OK && pwrite(fd, image, size, 0) != (ssize_t)size) {
    status = REFUSED(o, "memory cannot be made executable");
  }
  if (status != SMELT_OK) (void)munmap(*base, size);
  return status;
}

static smelt_status map_memory_file(const object *o, unsigned char *image, size_t size, void **base) {
  int fd = create_memory_file(size);
  if (fd < 0) return REFUSED(o, "memory cannot be made executable");
  smelt_status status = map_filled(o, fd, image, size, base);
  (void)close(fd);
  return status;
}

/* Maps the code executable, of `size` bytes. */
static smelt_status map_image(const object *o, size_t size, void **base) {
  void *image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (image == MAP_FAILED) return sm_error_memory(o->err, "a kernel's code");
  *base = image;
  smelt_status status = fill_image(o, image, (uintptr_t)image);
  if (status == SMELT_OK && mprotect(image, size, PROT_READ | PROT_EXEC) == 0) return SMELT_OK;
  if (status == SMELT_OK) status = map_memory_file(o, image, size, base);
  (void)munmap(image, size);
  return status;
}

static size_t round_to_pages(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

smelt_status sm_code_load(const void *data, size_t size, const char *entry, sm_code *out, smelt_error *err) {
  object o = {.data = data, .size = size, .err = err};
  uint64_t at;
  *out = (sm_code){.base = NULL};
  SM_TRY(read_sections(&o));
  SM_TRY(find_symbols(&o));
  SM_TRY(find_entry(&o, entry, &at));
  void *base;
  size_t mapped = round_to_pages(o.image_size);
  SM_TRY(map_image(&o, mapped, &base));
  *out = (sm_code){.base = base, .size = mapped, .entry = (sm_kernel_fn *)((uintptr_t)base + at)};
  return SMELT_OK;
}

void sm_code_free(sm_code *code) {
  if (code->base) (void)munmap(code->base, code->size);
  *code = (sm_code){.base = NULL};
}
