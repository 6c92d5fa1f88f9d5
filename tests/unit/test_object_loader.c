/* SPDX-License-Identifier: Apache-2.0
 *
 * The loader: objects of gcc, of LLVM and made by hand run; what is malformed or
 * needs more than is offered is refused; random damage never does harm; code is
 * executable without having been writable at the same time. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"
#include "rt/object_image.h"
#include "rt/object_loader.h"

static void need_x86_64(void) {
#if !defined(__x86_64__)
  TEST_SKIP("for x86-64");
#endif
}

/* --- An object by hand ------------------------------------------------------------- */

enum { NULL_SECTION, TEXT, RODATA, RELA_TEXT, SYMTAB, STRTAB, N_SECTIONS };
enum { NULL_SYMBOL, FILE_SYMBOL, CONSTANTS, ABSOLUTE, ENTRY, LABEL, N_SYMBOLS };

typedef struct hand_object {
  Elf64_Ehdr header;
  unsigned char text[64];
  float rodata[4];
  Elf64_Rela relocations[2];
  Elf64_Sym symbols[N_SYMBOLS];
  char names[32];
  Elf64_Shdr sections[N_SECTIONS];
} hand_object;

/* *(float *)buffers[0] = rodata[0] + rodata[2] */
static const unsigned char text_x86_64[64] = {
    0x48, 0x8b, 0x07,                         /* mov rax, [rdi] */
    0xf3, 0x0f, 0x10, 0x05, 0, 0, 0, 0,       /* movss xmm0, [rip + rodata] */
    0x48, 0xb9, 0,    0,    0, 0, 0, 0, 0, 0, /* movabs rcx, rodata + 8 */
    0xf3, 0x0f, 0x58, 0x01,                   /* addss xmm0, [rcx] */
    0xf3, 0x0f, 0x11, 0x00,                   /* movss [rax], xmm0 */
    0xc3,                                     /* ret */
};
static const unsigned char text_aarch64[64] = {
    0x00, 0x00, 0x40, 0xf9, /* ldr x0, [x0] */
    0x61, 0x01, 0x00, 0x98, /* ldrsw x1, distance */
    0x42, 0x01, 0x00, 0x10, /* adr x2, distance */
    0x21, 0x00, 0x02, 0x8b, /* add x1, x1, x2 */
    0x20, 0x00, 0x40, 0xbd, /* ldr s0, [x1] */
    0xa2, 0x00, 0x00, 0x58, /* ldr x2, address */
    0x41, 0x00, 0x40, 0xbd, /* ldr s1, [x2] */
    0x00, 0x28, 0x21, 0x1e, /* fadd s0, s0, s1 */
    0x00, 0x00, 0x00, 0xbd, /* str s0, [x0] */
    0xc0, 0x03, 0x5f, 0xd6, /* ret */
    /* at 40: address, the 8 bytes of rodata + 8; at 48: distance, 4 bytes, to rodata */
};

/* What differs between machines: the text, its relocations, and all types that are
 * offered. */
typedef struct machine {
  uint16_t id;
  const unsigned char *text;
  Elf64_Rela distance, address;
  uint16_t offered[12];
} machine;

static const machine machines[] = {
    {EM_X86_64,
     text_x86_64,
     {7, ELF64_R_INFO(CONSTANTS, R_X86_64_PC32), -4},
     {13, ELF64_R_INFO(CONSTANTS, R_X86_64_64), 8},
     {R_X86_64_64, R_X86_64_PC32, R_X86_64_PLT32, R_X86_64_32S}},
    {EM_AARCH64,
     text_aarch64,
     {48, ELF64_R_INFO(CONSTANTS, R_AARCH64_PREL32), 0},
     {40, ELF64_R_INFO(CONSTANTS, R_AARCH64_ABS64), 8},
     {R_AARCH64_ABS64, R_AARCH64_PREL64, R_AARCH64_PREL32, R_AARCH64_ADR_PREL_PG_HI21,
      R_AARCH64_ADD_ABS_LO12_NC, R_AARCH64_LDST8_ABS_LO12_NC, R_AARCH64_LDST16_ABS_LO12_NC,
      R_AARCH64_LDST32_ABS_LO12_NC, R_AARCH64_LDST64_ABS_LO12_NC, R_AARCH64_LDST128_ABS_LO12_NC}},
};
enum { N_MACHINES = sizeof machines / sizeof machines[0] };

#if defined(__x86_64__)
static const machine *const host = &machines[0];
#elif defined(__aarch64__)
static const machine *const host = &machines[1];
#else
static const machine *const host = NULL;
#endif

static void need_host(void) {
  if (!host) TEST_SKIP("the loader is for x86-64 and AArch64");
}

static Elf64_Shdr section(uint32_t type, uint64_t flags, size_t at, size_t size, uint32_t link, uint32_t info,
                          uint64_t entry_size) {
  return (Elf64_Shdr){.sh_type = type,
                      .sh_flags = flags,
                      .sh_offset = at,
                      .sh_size = size,
                      .sh_link = link,
                      .sh_info = info,
                      .sh_addralign = 16,
                      .sh_entsize = entry_size};
}
#define PART(member) offsetof(hand_object, member), sizeof((hand_object *)0)->member

static void add_sections(hand_object *o) {
  o->sections[TEXT] = section(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, PART(text), 0, 0, 0);
  o->sections[RODATA] = section(SHT_PROGBITS, SHF_ALLOC | SHF_MERGE, PART(rodata), 0, 0, 4);
  o->sections[RELA_TEXT] =
      section(SHT_RELA, SHF_INFO_LINK, PART(relocations), SYMTAB, TEXT, sizeof(Elf64_Rela));
  o->sections[SYMTAB] = section(SHT_SYMTAB, 0, PART(symbols), STRTAB, ABSOLUTE, sizeof(Elf64_Sym));
  o->sections[STRTAB] = section(SHT_STRTAB, 0, PART(names), 0, 0, 0);
}

static Elf64_Sym symbol(uint32_t name, unsigned char binding, unsigned char type, uint16_t in,
                        uint64_t value) {
  return (Elf64_Sym){.st_name = name,
                     .st_info = (unsigned char)ELF64_ST_INFO(binding, type),
                     .st_shndx = in,
                     .st_value = value};
}

/* Two symbols have the name of the entry without being it. */
static void add_symbols(hand_object *o) {
  memcpy(o->names, "\0smelt_kernel\0label", 20);
  o->symbols[FILE_SYMBOL] = symbol(1, STB_LOCAL, STT_FILE, SHN_ABS, 0);
  o->symbols[CONSTANTS] = symbol(0, STB_LOCAL, STT_SECTION, RODATA, 0);
  o->symbols[ABSOLUTE] = symbol(1, STB_GLOBAL, STT_FUNC, SHN_ABS, 1);
  o->symbols[ENTRY] = symbol(1, STB_GLOBAL, STT_FUNC, TEXT, 0);
  o->symbols[LABEL] = symbol(14, STB_LOCAL, STT_NOTYPE, RODATA, sizeof o->rodata);
}

static hand_object make_object(const machine *m) {
  hand_object o;
  memset(&o, 0, sizeof o);
  memcpy(o.header.e_ident, ELFMAG "\2\1\1", 7);
  o.header.e_type = ET_REL;
  o.header.e_machine = m->id;
  o.header.e_version = EV_CURRENT;
  o.header.e_shoff = offsetof(hand_object, sections);
  o.header.e_shentsize = sizeof(Elf64_Shdr);
  o.header.e_shnum = N_SECTIONS;
  memcpy(o.text, m->text, sizeof o.text);
  o.rodata[0] = 1.5f;
  o.rodata[2] = 2.25f;
  o.relocations[0] = m->distance;
  o.relocations[1] = m->address;
  add_sections(&o);
  add_symbols(&o);
  return o;
}

/* --- Loading and running --------------------------------------------------------------- */

static float run_hand_object(const sm_code *code) {
  float result = 0;
  void *buffers[] = {&result};
  code->entry(buffers, NULL, NULL, 0, 1);
  return result;
}

/* Loads a copy that has exactly `size` bytes and goes away before the code runs. */
static smelt_status load(const void *object, size_t size, sm_code *code, smelt_error *err) {
  void *copy = malloc(size ? size : 1);
  CHECK(copy != NULL);
  memcpy(copy, object, size);
  smelt_status status = sm_code_load(copy, size, SM_OBJECT_ENTRY, code, err);
  free(copy);
  return status;
}

/* What loading does before memory becomes executable, for any machine. */
static smelt_status link_object(const void *object, size_t size, const machine *m, smelt_error *err) {
  sm_object_image image;
  smelt_status status = sm_object_image_read(&image, object, size, m->id, SM_OBJECT_ENTRY, err);
  if (status != SMELT_OK) return status;
  unsigned char *bytes = calloc(1, image.image_bytes);
  CHECK(bytes != NULL);
  status = sm_object_image_fill(&image, bytes, 0x7f0000001000);
  free(bytes);
  return status;
}

static void expect_refusal(const hand_object *o, const machine *m, smelt_status expected, const char *text) {
  sm_code code;
  smelt_error err = {0};
  CHECK_STATUS(link_object(o, sizeof *o, m, &err), expected);
  CHECK_CONTAINS(err.text, text);
  if (m != host) return;
  CHECK_STATUS(load(o, sizeof *o, &code, &err), expected);
  CHECK_CONTAINS(err.text, text);
  CHECK(code.base == NULL && code.entry == NULL);
}

static void expect_success(const hand_object *o, const machine *m) {
  sm_code code;
  smelt_error err = {0};
  CHECK_OK(link_object(o, sizeof *o, m, &err), err);
  if (m != host) return;
  CHECK_OK(load(o, sizeof *o, &code, &err), err);
  CHECK_F64((double)run_hand_object(&code), 3.75);
  sm_code_free(&code);
  CHECK(code.base == NULL);
}

#define EACH_MACHINE(m)        \
  const machine *m = machines; \
  m < machines + N_MACHINES;   \
  m++

/* A sound object of each machine m after `change`. */
#define REFUSE(status, text, change)         \
  do {                                       \
    for (EACH_MACHINE(m)) {                  \
      hand_object o = make_object(m);        \
      change;                                \
      expect_refusal(&o, m, (status), text); \
    }                                        \
  } while (0)
#define MALFORMED(text, change) REFUSE(SMELT_ERR_FORMAT, text, change)
#define UNSUPPORTED(text, change) REFUSE(SMELT_ERR_UNSUPPORTED, text, change)

#define LOADS(change)                 \
  do {                                \
    for (EACH_MACHINE(m)) {           \
      hand_object o = make_object(m); \
      change;                         \
      expect_success(&o, m);          \
    }                                 \
  } while (0)

/* The permissions of the mapping at `address`, "r-xp"; none may be writable and
 * executable. */
static void read_permissions(const void *address, char out[5]) {
  FILE *maps = fopen("/proc/self/maps", "r");
  CHECK(maps != NULL);
  out[0] = 0;
  char line[512], flags[5];
  unsigned long from, to;
  while (fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx %4s", &from, &to, flags) != 3) continue;
    CHECK(!(strchr(flags, 'w') && strchr(flags, 'x')));
    if ((uintptr_t)address >= from && (uintptr_t)address < to) memcpy(out, flags, sizeof flags);
  }
  (void)fclose(maps);
}

TEST(hand_made_object_runs) {
  need_host();
  LOADS((void)0);
  sm_code code;
  smelt_error err = {0};
  hand_object o = make_object(host);
  CHECK_OK(load(&o, sizeof o, &code, &err), err);
  char permissions[5];
  read_permissions(code.base, permissions);
  CHECK_STR(permissions, "r-xp");
  sm_code_free(&code);
  sm_code_free(&code);
}

TEST(object_may_be_unaligned) {
  need_host();
  hand_object o = make_object(host);
  char *bytes = malloc(sizeof o + 1);
  CHECK(bytes != NULL);
  memcpy(bytes + 1, &o, sizeof o);
  sm_code code;
  smelt_error err = {0};
  CHECK_OK(sm_code_load(bytes + 1, sizeof o, SM_OBJECT_ENTRY, &code, &err), err);
  free(bytes);
  CHECK_F64((double)run_hand_object(&code), 3.75);
  sm_code_free(&code);
}

static Elf64_Rela refer_to(uint64_t symbol, Elf64_Rela r, int64_t addend) {
  return (Elf64_Rela){r.r_offset, ELF64_R_INFO(symbol, ELF64_R_TYPE(r.r_info)), addend};
}

TEST(harmless_differences_load) {
  LOADS(if (m->id == EM_X86_64) o.relocations[0].r_info = ELF64_R_INFO(CONSTANTS, R_X86_64_PLT32));
  LOADS(o.sections[RODATA].sh_addralign = 4096);
  LOADS(o.sections[RODATA].sh_addralign = 0);
  LOADS(o.relocations[1] = refer_to(LABEL, m->address, -8));
  /* What is not part of the program may be as it likes. */
  LOADS(o.sections[NULL_SECTION] = section(SHT_RELA, 0, 0, 24, 77, NULL_SECTION, 3));
  LOADS(o.sections[NULL_SECTION] = section(SHT_NOBITS, 0, UINT64_MAX, UINT64_MAX, 0, 0, 0));
  LOADS(o.sections[NULL_SECTION] = section(SHT_NOTE, SHF_ALLOC, 0, 8, 0, 0, 0));
}

/* --- Refusals ------------------------------------------------------------------------------ */

TEST(wrong_headers) {
  for (size_t i = 0; i < 8; i++) MALFORMED("no 64-bit ELF", o.header.e_ident[i] ^= 4);
  MALFORMED("not relocatable", o.header.e_type = ET_DYN);
  MALFORMED("not relocatable", o.header.e_version = 2);
  UNSUPPORTED("another machine", o.header.e_machine = EM_RISCV);
  UNSUPPORTED("another machine", o.header.e_machine ^= EM_X86_64 ^ EM_AARCH64);
  MALFORMED("section headers of another size", o.header.e_shentsize = 63);
  UNSUPPORTED("0 sections", o.header.e_shnum = 0);
  UNSUPPORTED("65 sections", o.header.e_shnum = SM_CODE_MAX_SECTIONS + 1);
  MALFORMED("section headers outside", o.header.e_shnum = N_SECTIONS + 1);
  MALFORMED("section headers outside", o.header.e_shoff = UINT64_MAX);
  MALFORMED("section headers outside", o.header.e_shoff = UINT64_MAX - 63);
  MALFORMED("section headers outside", o.header.e_shoff += sizeof(Elf64_Shdr));
}

TEST(wrong_sections) {
  MALFORMED("section 1 is outside", o.sections[TEXT].sh_offset = UINT64_MAX);
  MALFORMED("section 1 is outside", o.sections[TEXT].sh_size = UINT64_MAX - 63);
  MALFORMED("section 2 is outside", o.sections[RODATA].sh_size = sizeof o);
  MALFORMED("section 4 is outside", o.sections[SYMTAB].sh_offset = sizeof o - sizeof o.symbols + 1);
  MALFORMED("alignment of section 2", o.sections[RODATA].sh_addralign = 3);
  UNSUPPORTED("alignment of section 2", o.sections[RODATA].sh_addralign = 8192);
  UNSUPPORTED("alignment of section 2", o.sections[RODATA].sh_addralign = (uint64_t)1 << 63);
  UNSUPPORTED("section 2 is not code or read-only data", o.sections[RODATA].sh_flags |= SHF_WRITE);
  UNSUPPORTED("section 2 is not code or read-only data", o.sections[RODATA].sh_flags |= SHF_TLS);
  UNSUPPORTED("section 2 is not code or read-only data", o.sections[RODATA].sh_flags |= SHF_COMPRESSED);
  UNSUPPORTED("section 2 is not",
              o.sections[RODATA] = section(SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 0, 9, 0, 0, 0));
  UNSUPPORTED("section 2 has type 0xe", o.sections[RODATA].sh_type = SHT_INIT_ARRAY);
  UNSUPPORTED("section 0 has type 0x12", o.sections[NULL_SECTION].sh_type = SHT_SYMTAB_SHNDX);
  UNSUPPORTED("section 0 has type 0x13", o.sections[NULL_SECTION].sh_type = 19);
  UNSUPPORTED("section 0 has type 0x40000014", o.sections[NULL_SECTION].sh_type = 0x40000014);
}

/* The file has room for the sections, the image has not. */
TEST(image_is_bounded) {
  need_host();
  size_t size = sizeof(hand_object) + SM_CODE_MAX_BYTES;
  hand_object *o = calloc(1, size);
  CHECK(o != NULL);
  *o = make_object(host);
  o->sections[TEXT].sh_size = SM_CODE_MAX_BYTES;
  o->sections[TEXT].sh_offset = sizeof *o;
  sm_code code;
  smelt_error err = {0};
  CHECK_STATUS(sm_code_load(o, size, SM_OBJECT_ENTRY, &code, &err), SMELT_ERR_UNSUPPORTED);
  CHECK_CONTAINS(err.text, "too large");
  free(o);
}

TEST(wrong_symbols) {
  MALFORMED("no symbol table", o.sections[SYMTAB].sh_type = SHT_PROGBITS);
  MALFORMED("two symbol tables", o.sections[RODATA].sh_type = SHT_SYMTAB);
  MALFORMED("symbols of another size", o.sections[SYMTAB].sh_entsize = 0);
  MALFORMED("symbols of another size", o.sections[SYMTAB].sh_size--);
  MALFORMED("no names of symbols", o.sections[SYMTAB].sh_link = N_SECTIONS);
  MALFORMED("no names of symbols", o.sections[SYMTAB].sh_link = TEXT);
  MALFORMED("no names of symbols", o.sections[STRTAB].sh_size = 0);
  MALFORMED("names of symbols do not end", o.names[sizeof o.names - 1] = 'x');
  MALFORMED("a symbol's name is outside", o.symbols[LABEL].st_name = sizeof o.names);
  MALFORMED("a symbol's name is outside", o.symbols[LABEL].st_name = UINT32_MAX);
  UNSUPPORTED("undefined symbol \"label\"", o.symbols[LABEL].st_shndx = SHN_UNDEF);
}

TEST(wrong_entries) {
  static const char text[] = "no function \"smelt_kernel\"";
  MALFORMED(text, o.symbols[ENTRY].st_name = 2);
  MALFORMED(text, o.symbols[ENTRY].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT));
  MALFORMED(text, o.symbols[ENTRY].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC));
  MALFORMED(text, o.symbols[ENTRY].st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC));
  MALFORMED(text, o.symbols[ENTRY].st_shndx = SHN_ABS);
  MALFORMED(text, o.symbols[ENTRY].st_shndx = SHN_COMMON);
  MALFORMED(text, o.symbols[ENTRY].st_shndx = SHN_XINDEX);
  MALFORMED(text, o.symbols[ENTRY].st_shndx = N_SECTIONS);
  MALFORMED(text, o.symbols[ENTRY].st_shndx = SYMTAB);
  MALFORMED(text, o.symbols[ENTRY].st_shndx = RODATA);
  MALFORMED(text, o.symbols[ENTRY].st_value = sizeof o.text);
  MALFORMED(text, o.symbols[ENTRY].st_value = UINT64_MAX);
}

TEST(wrong_relocations) {
  MALFORMED("relocations of no section", o.sections[RELA_TEXT].sh_info = N_SECTIONS);
  MALFORMED("relocations without symbols", o.sections[RELA_TEXT].sh_link = STRTAB);
  MALFORMED("relocations of another size", o.sections[RELA_TEXT].sh_entsize = 16);
  MALFORMED("relocations of another size", o.sections[RELA_TEXT].sh_size--);
  UNSUPPORTED("relocations without addends", o.sections[RELA_TEXT].sh_type = SHT_REL);
  MALFORMED("a relocation is outside", o.relocations[0].r_offset = sizeof o.text - 3);
  MALFORMED("a relocation is outside", o.relocations[1].r_offset = sizeof o.text - 7);
  MALFORMED("a relocation is outside", o.relocations[1].r_offset = UINT64_MAX);
  MALFORMED("a relocation is outside", o.relocations[1].r_offset = UINT64_MAX - 7);
  MALFORMED("a relocation is outside", o.sections[RELA_TEXT].sh_info = RODATA;
            o.sections[RODATA].sh_size = 3);
  MALFORMED("symbol 0x6 of 0x6", o.relocations[0] = refer_to(N_SYMBOLS, m->distance, 0));
  MALFORMED("symbol 0xffffffff of 0x6", o.relocations[0] = refer_to(UINT32_MAX, m->distance, 0));
  MALFORMED("a symbol is outside", o.symbols[CONSTANTS].st_value = sizeof o.rodata + 1);
  MALFORMED("a symbol is outside", o.symbols[CONSTANTS].st_value = UINT64_MAX);
}

/* The type, or 0 (no relocation) if it is offered. */
static uint64_t not_offered(const machine *m, unsigned type) {
  for (size_t i = 0; i < sizeof m->offered / sizeof m->offered[0]; i++) {
    if (m->offered[i] == type) return 0;
  }
  return type;
}

TEST(relocations_that_are_not_offered) {
  static const char elsewhere[] = "relocation to what is not placed";
  UNSUPPORTED(elsewhere, o.relocations[0] = refer_to(NULL_SYMBOL, m->distance, 0));
  UNSUPPORTED(elsewhere, o.relocations[0] = refer_to(ABSOLUTE, m->distance, 0));
  UNSUPPORTED(elsewhere, o.symbols[CONSTANTS].st_shndx = SHN_COMMON);
  UNSUPPORTED(elsewhere, o.symbols[CONSTANTS].st_shndx = STRTAB);
  UNSUPPORTED(elsewhere, o.symbols[CONSTANTS].st_info = ELF64_ST_INFO(STB_LOCAL, STT_TLS));
  UNSUPPORTED(elsewhere, o.symbols[CONSTANTS].st_info = ELF64_ST_INFO(STB_LOCAL, STT_GNU_IFUNC));
  UNSUPPORTED("does not fit in 32 bits", o.relocations[0].r_addend = (int64_t)1 << 32);
  UNSUPPORTED("does not fit in 32 bits", o.relocations[0].r_addend = INT64_MIN);
  for (unsigned type = 0; type < 1100; type++) {
    UNSUPPORTED("relocation of type",
                o.relocations[0].r_info = ELF64_R_INFO(CONSTANTS, not_offered(m, type)));
  }
}

TEST(low_addresses_do_not_reach) {
  const machine *m = &machines[0];
  hand_object o = make_object(m);
  o.relocations[0].r_info = ELF64_R_INFO(CONSTANTS, R_X86_64_32S);
  expect_refusal(&o, m, SMELT_ERR_UNSUPPORTED, "does not fit in 32 bits");
}

/* --- Where memory may not become executable --------------------------------------------------- */

/* From now on mprotect with PROT_EXEC fails, memory files too if asked for. */
static void forbid_execution(bool memory_files_too) {
  const uint32_t number = offsetof(struct seccomp_data, nr),
                 argument = offsetof(struct seccomp_data, args[2]);
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, memory_files_too ? SYS_memfd_create : UINT32_MAX, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 13),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {sizeof program / sizeof program[0], program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    TEST_SKIP("the kernel does not filter system calls");
  }
}

TEST(memory_file_where_mprotect_is_forbidden) {
  need_host();
  forbid_execution(false);
  LOADS((void)0);
  sm_code code;
  smelt_error err = {0};
  hand_object o = make_object(host);
  CHECK_OK(load(&o, sizeof o, &code, &err), err);
  char permissions[5];
  read_permissions(code.base, permissions);
  CHECK_STR(permissions, "r-xs");
  CHECK_F64((double)run_hand_object(&code), 3.75);
  sm_code_free(&code);
}

TEST(refused_where_nothing_becomes_executable) {
  need_host();
  forbid_execution(true);
  sm_code code;
  smelt_error err = {0};
  hand_object o = make_object(host);
  CHECK_STATUS(load(&o, sizeof o, &code, &err), SMELT_ERR_UNSUPPORTED);
  CHECK_CONTAINS(err.text, "memory cannot be made executable");
  CHECK(code.base == NULL && code.entry == NULL);
}

/* --- Objects of a compiler ------------------------------------------------------------------------ */

typedef struct bytes {
  unsigned char *data;
  size_t size;
} bytes;

static bytes read_file(const char *path) {
  bytes b = {0};
  FILE *file = fopen(path, "rb");
  if (!file) return b;
  b.data = malloc(1 << 20);
  CHECK(b.data != NULL);
  b.size = fread(b.data, 1, 1 << 20, file);
  (void)fclose(file);
  return b;
}

/* What gcc makes of `source`. */
static bytes compile(const char *language, const char *flags, const char *source) {
  need_x86_64();
  if (system("gcc --version >/dev/null 2>&1") != 0) TEST_SKIP("there is no gcc");
  char folder[] = "/tmp/smelt-loader-XXXXXX", command[512], in[64], out[64];
  CHECK(mkdtemp(folder) != NULL);
  (void)snprintf(in, sizeof in, "%s/in", folder);
  (void)snprintf(out, sizeof out, "%s/out.o", folder);
  FILE *file = fopen(in, "w");
  CHECK(file != NULL && fputs(source, file) >= 0 && fclose(file) == 0);
  (void)snprintf(command, sizeof command, "gcc -x %s %s -c %s -o %s", language, flags, in, out);
  CHECK(system(command) == 0);
  bytes object = read_file(out);
  CHECK(object.size > 0);
  (void)unlink(in);
  (void)unlink(out);
  (void)rmdir(folder);
  return object;
}

/* A table of addresses, one of numbers, calls to a function of its own, a jump
 * table: out[i] = what case i says. */
static const char c_source[] =
    "static const double numbers[] = {0.5, 1.5, 2.5, 3.5};\n"
    "static const char *const words[] = {\"zero\", \"one\", \"two\", \"three\"};\n"
    "__attribute__((noinline)) static double twice(double x) { return x + x; }\n"
    "static double choose(long i) {\n"
    "  switch (i) {\n"
    "    case 0: return twice(numbers[3]);\n"
    "    case 1: return 10.25;\n"
    "    case 2: return words[2][0];\n"
    "    case 3: return twice(0.125) * numbers[1];\n"
    "    case 4: return -1.0;\n"
    "    case 5: return words[3][4];\n"
    "    default: return numbers[i & 3];\n"
    "  }\n"
    "}\n"
    "void smelt_kernel(void *const *buffers, const long *sizes, const void *scalars, long begin, long end) "
    "{\n"
    "  (void)sizes, (void)scalars;\n"
    "  for (long i = begin; i < end; i++) ((double *)buffers[0])[i] = choose(i);\n"
    "}\n";

static void run_c_object(bytes object) {
  static const double expected[] = {7.0, 10.25, 't', 0.375, -1.0, 'e', 2.5, 3.5, 0.5};
  double results[9] = {0};
  void *buffers[] = {results};
  sm_code code;
  smelt_error err = {0};
  CHECK_OK(load(object.data, object.size, &code, &err), err);
  code.entry(buffers, NULL, NULL, 0, 9);
  for (int i = 0; i < 9; i++) CHECK_F64(results[i], expected[i]);
  sm_code_free(&code);
  free(object.data);
}

/* Code of this model refers to its tables by 64-bit addresses. */
#define LARGE "-fno-pie -mcmodel=large"

TEST(objects_of_gcc_run) {
  run_c_object(compile("c", LARGE " -O0", c_source));
  run_c_object(compile("c", LARGE " -O2", c_source));
  run_c_object(compile("c", LARGE " -O2 -g -ffunction-sections -fdata-sections", c_source));
  run_c_object(compile("c", LARGE " -O3 -mavx2 -fno-asynchronous-unwind-tables", c_source));
}

static void refuse_object(bytes object, smelt_status status, const char *text) {
  sm_code code;
  smelt_error err = {0};
  CHECK_STATUS(load(object.data, object.size, &code, &err), status);
  CHECK_CONTAINS(err.text, text);
  free(object.data);
}

#define C_KERNEL(body) "void smelt_kernel(void **b) { " body " }\n"

TEST(objects_of_gcc_refused) {
  const smelt_status no = SMELT_ERR_UNSUPPORTED;
  refuse_object(compile("c", "-O2", "double exp(double);" C_KERNEL("*(double *)*b = exp(*(double *)*b);")),
                no, "undefined symbol \"exp\"");
  refuse_object(compile("c", "-O2 -fPIC", "extern int x;" C_KERNEL("*(int *)*b = x;")), no,
                "undefined symbol");
  refuse_object(compile("c", "-O2", "static int n = 7;" C_KERNEL("*(int *)*b = n++;")), no, "is not code or");
  refuse_object(compile("c", "-O2", "static int n;" C_KERNEL("*(int *)*b = n++;")), no, "is not code or");
  refuse_object(compile("c", "-O2", "static _Thread_local int n;" C_KERNEL("*(int *)*b = n++;")), no, "");
  refuse_object(compile("c", "-O2 -fcommon -fno-pie -mcmodel=large", "int n;" C_KERNEL("*(int *)*b = n;")),
                no, "relocation to what is not placed");
  refuse_object(compile("c", "-O2 -fno-pie", c_source), no, "");
  refuse_object(compile("c", "-O2", "static " C_KERNEL("(void)b;") "void f(void **b) { smelt_kernel(b); }"),
                SMELT_ERR_FORMAT, "no function \"smelt_kernel\"");
}

TEST(symbols_that_only_look_like_the_entry) {
  static const char text[] = ".file \"smelt_kernel\"\n.globl smelt_kernel\n.type smelt_kernel, @function\n";
  char source[256];
  (void)snprintf(source, sizeof source, "%s.set smelt_kernel, 64\n", text);
  refuse_object(compile("assembler", "", source), SMELT_ERR_FORMAT, "no function");
  (void)snprintf(source, sizeof source, "%s.section .rodata\nsmelt_kernel: .long 0\n", text);
  refuse_object(compile("assembler", "", source), SMELT_ERR_FORMAT, "no function");
  (void)snprintf(
      source, sizeof source,
      "%smovq (%%rdi), %%rax\n.text\n.long 0\nsmelt_kernel: movq (%%rdi), %%rax\nmovss c(%%rip), %%xmm0\n"
      "movss %%xmm0, (%%rax)\nret\n.section .rodata\nc: .float 3.75\n",
      text);
  bytes object = compile("assembler", "", source);
  sm_code code;
  smelt_error err = {0};
  CHECK_OK(load(object.data, object.size, &code, &err), err);
  CHECK_F64((double)run_hand_object(&code), 3.75);
  sm_code_free(&code);
  free(object.data);
}

/* --- Objects of LLVM --------------------------------------------------------------------------------- */

/* b1[i] = 2.5 * b0[i] + s for the whole chunk, vectors of 8. */
static void build_kernel(sm_kir_kernel *k) {
  const int none = SM_KIR_NONE, width = 8;
  const smelt_dtype same = SMELT_DTYPE_NONE;
  sm_kir_init(k, &sm_malloc_allocator);
  sm_kir_add_buffer(k, SMELT_F32, false);
  sm_kir_add_buffer(k, SMELT_F32, true);
  int32_t s = sm_kir_splat(k, sm_kir_scalar(k, sm_kir_add_scalar(k, SMELT_F32)), width);
  int32_t factor = sm_kir_splat(k, sm_kir_const(k, SMELT_F32, (sm_word){.F32 = 2.5f}), width);
  int32_t i = sm_kir_for(k, sm_kir_chunk_begin(k), sm_kir_chunk_end(k), width);
  int32_t product = sm_kir_kop(k, SM_KOP_MUL, factor, sm_kir_load(k, 0, i, none, width), none, same);
  sm_kir_store(k, 1, i, none, sm_kir_kop(k, SM_KOP_ADD, product, s, none, same));
  sm_kir_end(k);
  smelt_error err = {0};
  CHECK_OK(sm_kir_finish(k, &err), err);
}

static bytes compile_with_llvm(void) {
  sm_llvm llvm;
  smelt_error err = {0};
  if (sm_cpu_detect() == SM_CPU_BASELINE) TEST_SKIP("no code is generated for this processor");
  if (sm_llvm_open(&llvm, "", &err) != SMELT_OK) TEST_SKIP(err.text);
  sm_kir_kernel k;
  build_kernel(&k);
  sm_object object;
  CHECK_OK(sm_llvm_compile(&llvm, &k, sm_cpu_detect(), &sm_malloc_allocator, &object, NULL, &err), err);
  sm_kir_free(&k);
  sm_llvm_close(&llvm);
  return (bytes){object.data, object.size};
}

TEST(object_of_llvm_runs) {
  bytes object = compile_with_llvm();
  sm_code code;
  smelt_error err = {0};
  CHECK_OK(load(object.data, object.size, &code, &err), err);
  float x[40], y[40] = {0};
  for (int i = 0; i < 40; i++) x[i] = (float)i;
  sm_word s = {.F32 = 0.5f};
  code.entry((void *[]){x, y}, NULL, &s, 8, 32);
  for (int i = 0; i < 40; i++) CHECK_F64((double)y[i], i >= 8 && i < 32 ? 2.5 * i + 0.5 : 0.0);
  sm_code_free(&code);
  free(object.data);
}

/* --- Damage --------------------------------------------------------------------------------------- */

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

/* Overwrites 1, 2, 4 or 8 bytes, mostly with numbers at which checks break. */
static void damage(bytes object) {
  const uint64_t numbers[] = {0,
                              1,
                              UINT64_MAX,
                              object.size,
                              object.size - 1,
                              SHN_ABS,
                              INT32_MAX,
                              INT64_MAX,
                              UINT32_MAX,
                              next_random(),
                              next_random() % 64,
                              0xff00,
                              4096,
                              24,
                              next_random() % object.size};
  uint64_t number = numbers[next_random() % (sizeof numbers / sizeof numbers[0])];
  size_t width = (size_t)1 << next_random() % 4;
  size_t at = next_random() % object.size;
  if (next_random() % 4) at &= ~(width - 1);
  if (at + width > object.size) return;
  memcpy(object.data + at, &number, width);
}

static bool loads(const void *object, size_t size) {
  sm_code code;
  bool ok = load(object, size, &code, NULL) == SMELT_OK;
  uintptr_t from = (uintptr_t)code.base, at = (uintptr_t)code.entry;
  CHECK(ok ? from && at >= from && at < from + code.size : !from && !at);
  sm_code_free(&code);
  return ok;
}

/* From a copy of its own, whose end a sanitizer watches. */
static bool links(const void *object, size_t size, const machine *m) {
  void *copy = malloc(size ? size : 1);
  CHECK(copy != NULL);
  memcpy(copy, object, size);
  bool ok = link_object(copy, size, m, NULL) == SMELT_OK;
  free(copy);
  return ok;
}

/* Loads `n` damaged copies, or links them if they are for another machine; those
 * that still load are not run. */
static void load_damaged(bytes object, const machine *m, int n) {
  bytes copy = {.data = malloc(object.size)};
  CHECK(copy.data != NULL);
  int sound = 0;
  for (int i = 0; i < n; i++) {
    copy.size = object.size;
    memcpy(copy.data, object.data, object.size);
    for (uint64_t k = next_random() % 3 + 1; k; k--) damage(copy);
    size_t size = next_random() % 16 ? copy.size : next_random() % copy.size;
    sound += m == host ? loads(copy.data, size) : links(copy.data, size, m);
  }
  CHECK(sound > n / 100 && n - sound > n / 100);
  free(copy.data);
}

TEST(damaged_hand_made_objects) {
  for (EACH_MACHINE(m)) {
    hand_object o = make_object(m);
    load_damaged((bytes){(unsigned char *)&o, sizeof o}, m, 30000);
  }
}

/* What LLVM refers to constants by. */
TEST(damaged_relocations_of_instructions) {
  const machine *m = &machines[1];
  hand_object o = make_object(m);
  o.relocations[0] = (Elf64_Rela){0, ELF64_R_INFO(CONSTANTS, R_AARCH64_ADR_PREL_PG_HI21), 0};
  o.relocations[1] = (Elf64_Rela){4, ELF64_R_INFO(CONSTANTS, R_AARCH64_LDST64_ABS_LO12_NC), 8};
  load_damaged((bytes){(unsigned char *)&o, sizeof o}, m, 30000);
}

TEST(damaged_objects_of_gcc) {
  bytes object = compile("c", LARGE " -O2", c_source);
  load_damaged(object, host, 15000);
  free(object.data);
}

TEST(damaged_objects_of_llvm) {
  bytes object = compile_with_llvm();
  load_damaged(object, host, 15000);
  free(object.data);
}

TEST(truncated_objects) {
  need_host();
  hand_object o = make_object(host);
  for (size_t size = 0; size < sizeof o; size++) {
    sm_code code;
    CHECK_STATUS(load(&o, size, &code, NULL), SMELT_ERR_FORMAT);
  }
}

TEST_MAIN(CASE(hand_made_object_runs), CASE(object_may_be_unaligned), CASE(harmless_differences_load),
          CASE(wrong_headers), CASE(wrong_sections), CASE(image_is_bounded), CASE(wrong_symbols),
          CASE(wrong_entries), CASE(wrong_relocations), CASE(relocations_that_are_not_offered),
          CASE(low_addresses_do_not_reach), CASE(memory_file_where_mprotect_is_forbidden),
          CASE(refused_where_nothing_becomes_executable), CASE(objects_of_gcc_run),
          CASE(objects_of_gcc_refused), CASE(symbols_that_only_look_like_the_entry),
          CASE(object_of_llvm_runs), CASE(damaged_hand_made_objects),
          CASE(damaged_relocations_of_instructions), CASE(damaged_objects_of_gcc),
          CASE(damaged_objects_of_llvm), CASE(truncated_objects))
