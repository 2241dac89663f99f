/* nvir's compiler for C and C++. Made by cbindgen from crates/capi/src: BLESS=1 cargo test -p nvir-capi makes it anew. */

#ifndef NVIR_H
#define NVIR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 The version of this interface: changed when something that was there changes or goes.
 */
#define NVIR_INTERFACE 1

/*
 How a call ended.
 */
typedef enum nvir_status {
  /*
   Done.
   */
  NVIR_STATUS_OK = 0,
  /*
   The input is at fault: the error says where.
   */
  NVIR_STATUS_INPUT = 1,
  /*
   The input is right, but asks for something that the chip or the compiler does not have.
   */
  NVIR_STATUS_UNSUPPORTED = 2,
  /*
   A defect of nvir.
   */
  NVIR_STATUS_DEFECT = 3,
  /*
   The time that was allowed is over.
   */
  NVIR_STATUS_CANCELLED = 4,
  /*
   The call is wrong: a null pointer, a number that does not exist, text that is not UTF-8, options out of range.
   */
  NVIR_STATUS_USAGE = 5,
} nvir_status;

/*
 The chips that code is made for.
 */
typedef enum nvir_chip {
  /*
   Fermi (chipsets 0xc0 to 0xcf, 0xd7, 0xd9).
   */
  NVIR_CHIP_GF100 = 0,
  /*
   Kepler (0xe4 to 0xe7).
   */
  NVIR_CHIP_GK104 = 1,
  /*
   Kepler (0xf0, 0xf1, 0x106, 0x108).
   */
  NVIR_CHIP_GK110 = 2,
} nvir_chip;

/*
 What a text is written in.
 */
typedef enum nvir_language {
  /*
   What Mesa's tgsi_dump prints.
   */
  NVIR_LANGUAGE_TGSI = 0,
  /*
   What Mesa's nir_print_shader prints.
   */
  NVIR_LANGUAGE_NIR = 1,
  /*
   nvir's own intermediate representation.
   */
  NVIR_LANGUAGE_IR = 2,
  /*
   A SPIR-V module: its bytes, or the listing that the command line writes of it.
   */
  NVIR_LANGUAGE_SPIR_V = 3,
} nvir_language;

/*
 What kind of resource a program uses.
 */
typedef enum nvir_use_kind {
  /*
   A bank of constant memory.
   */
  NVIR_USE_KIND_CONSTANT = 0,
  /*
   A storage buffer.
   */
  NVIR_USE_KIND_BUFFER = 1,
  /*
   A uniform block.
   */
  NVIR_USE_KIND_UNIFORM = 2,
  /*
   An image.
   */
  NVIR_USE_KIND_IMAGE = 3,
  /*
   A texture.
   */
  NVIR_USE_KIND_TEXTURE = 4,
  /*
   A sampler.
   */
  NVIR_USE_KIND_SAMPLER = 5,
} nvir_use_kind;

/*
 A text or file that was made.
 */
typedef struct nvir_blob nvir_blob;

/*
 Compiles for one chip with one set of options.
 */
typedef struct nvir_compiler nvir_compiler;

/*
 Why there is no shader.
 */
typedef struct nvir_error nvir_error;

/*
 A compiled program.
 */
typedef struct nvir_shader nvir_shader;

/*
 Choices of a compiler. Fill it with nvir_options_init first.
 */
typedef struct nvir_options {
  /*
   sizeof(nvir_options): older programs work with newer libraries.
   */
  uint32_t size;
  /*
   0 to 3; 3 by default.
   */
  uint32_t opt_level;
  /*
   Registers that are read before they are written: 0 are left, 1 all are zero at entry, 2 those that matter, 3 on the
   paths on which a write is missing (the default).
   */
  uint32_t init_regs;
  /*
   A bound on registers below the chip's: 16 or more; 0: none.
   */
  uint32_t max_gprs;
  /*
   Threads of the largest block that will be launched, where the program does not say it; 0: not known.
   */
  uint32_t threads;
  /*
   What may be assumed of the address of a buffer argument, in bytes: a power of two; 4 by default.
   */
  uint32_t pointer_align;
  /*
   Bytes of private memory that a TGSI program addresses itself.
   */
  uint32_t private_bytes;
  /*
   Milliseconds that a compile may take; 0: as long as it takes.
   */
  uint32_t milliseconds;
  /*
   Threads in x, y and z of every block that will be launched, where the program does not declare it: the code is for
   that size alone; 0, 0, 0: not known.
   */
  uint32_t block_size[3];
  /*
   Dimensions of every grid that will be launched, 1 to 3; 0: not known.
   */
  uint32_t work_dim;
} nvir_options;

/*
 What a launch needs, and what there is to know of a shader.
 */
typedef struct nvir_shader_info {
  /*
   sizeof(nvir_shader_info), set by the caller.
   */
  uint32_t size;
  /*
   The code, in 64-bit words; it runs wherever it is loaded at a multiple of 256 bytes.
   */
  const uint64_t *code;
  /*
   Bytes of the code.
   */
  uint32_t code_bytes;
  /*
   Registers of a thread.
   */
  uint32_t registers;
  /*
   Bytes of local memory of a thread.
   */
  uint32_t local_bytes;
  /*
   Bytes of call-return stack of a warp; 0: what is on the chip is enough.
   */
  uint32_t stack_bytes;
  /*
   Bytes of shared memory of a block that the program declares.
   */
  uint32_t shared_bytes;
  /*
   Execution barriers: the highest number, plus one.
   */
  uint32_t barriers;
  /*
   Threads of a block in x, y and z as the program declares them, each by itself; 0 where it leaves a dimension to the
   launch. The code is for these sizes only: with others it computes wrong values. A driver refuses a launch that
   differs in a dimension that is not 0; nvir_shader_launch_block does that.
   */
  uint32_t block_size[3];
  /*
   Bytes of kernel input.
   */
  uint32_t input_bytes;
  /*
   Warps of this program that a multiprocessor holds at once.
   */
  uint32_t resident_warps;
  /*
   Instructions of the program; without library routines.
   */
  uint32_t instructions;
  /*
   Instructions of library routines.
   */
  uint32_t library;
  /*
   Instructions that store registers to memory for want of registers, and that load them again.
   */
  uint32_t spills;
  /*
   See above.
   */
  uint32_t fills;
  /*
   Estimated cycles of one warp, loops counted a fixed number of times.
   */
  uint64_t cycles;
  /*
   1: blocks are launched as whole warps: for x * y * z threads that many rounded up to a multiple of 32, in one dimension;
   the driver's bank says x, y and z. 0: as they are.
   */
  uint32_t whole_warps;
} nvir_shader_info;

/*
 One resource that a program uses.
 */
typedef struct nvir_use {
  /*
   Its number.
   */
  uint32_t slot;
  /*
   The number is computed: any resource of the kind may be meant.
   */
  bool indexed;
  /*
   Contents are read.
   */
  bool read;
  /*
   Contents are written.
   */
  bool written;
  /*
   Of a bank of constants: bytes from its beginning that are read; 0 where addresses are computed.
   */
  uint32_t bytes;
} nvir_use;

/*
 One finding about an input.
 */
typedef struct nvir_diagnostic {
  /*
   Whether there is a result nevertheless.
   */
  bool warning;
  /*
   Whose fault it is.
   */
  enum nvir_status status;
  /*
   What is wrong.
   */
  const char *message;
  /*
   What is wrong with the place, or was expected there; empty where there is nothing to say.
   */
  const char *label;
  /*
   What would be right, a sentence a line; empty where that is not known.
   */
  const char *help;
  /*
   The place, from 1; 0: there is none.
   */
  uint32_t line;
  /*
   In characters, from 1; 0: there is none.
   */
  uint32_t column;
  /*
   The place as bytes of the text: first.
   */
  uint32_t start;
  /*
   And behind the last.
   */
  uint32_t end;
} nvir_diagnostic;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The version of the interface that the library has: compare it with NVIR_INTERFACE.
 */
uint32_t nvir_interface(void);

/*
 The library's version, such as "0.1.0".
 */
const char *nvir_version(void);

/*
 The defaults. `size` is the caller's sizeof(nvir_options).
 */
void nvir_options_init(struct nvir_options *options, uint32_t size);

/*
 A compiler for Mesa's nvc0 driver on a chip (an nvir_chip). Without options: the defaults.
 */
enum nvir_status nvir_compiler_new(uint32_t chip_number,
                                   const struct nvir_options *options,
                                   struct nvir_compiler **out);

/*
 Frees a compiler; null is allowed.
 */
void nvir_compiler_free(struct nvir_compiler *compiler);

/*
 Compiles one kernel of a text of `length` bytes, which need not end in a zero. `entry` is its name (null: the only one),
 `name` what errors call the text (null: "shader"). On success `shader` is set, otherwise `error` (if it is not null).
 */
enum nvir_status nvir_compile(const struct nvir_compiler *compiler,
                              uint32_t language,
                              const char *source,
                              size_t length,
                              const char *entry,
                              const char *name,
                              struct nvir_shader **shader,
                              struct nvir_error **error);

/*
 A key for a disk cache: 32 bytes that are equal only if the shaders are.
 */
enum nvir_status nvir_cache_key(const struct nvir_compiler *compiler,
                                uint32_t language,
                                const char *source,
                                size_t length,
                                const char *entry,
                                uint8_t *key);

/*
 Frees a shader; null is allowed.
 */
void nvir_shader_free(struct nvir_shader *shader);

/*
 What a launch needs. `info->size` is the caller's sizeof(nvir_shader_info). NVIR_STATUS_UNSUPPORTED for a caller whose
 structure ends before `whole_warps` and a kernel that needs it.
 */
enum nvir_status nvir_shader_get_info(const struct nvir_shader *shader,
                                      struct nvir_shader_info *info);

/*
 What the machine is told to launch for a block of `block` threads in x, y and z (three numbers): these, or whole warps
 for a kernel that wants them. `launched` has room for three numbers. NVIR_STATUS_INPUT, with `launched` left as it is, for a
 block of another size than the program declares.
 */
enum nvir_status nvir_shader_launch_block(const struct nvir_shader *shader,
                                          const uint32_t *block,
                                          uint32_t *launched);

/*
 The kernel's name.
 */
const char *nvir_shader_name(const struct nvir_shader *shader);

/*
 The number of resources of a kind (an nvir_use_kind) that a shader uses.
 */
uint32_t nvir_shader_use_count(const struct nvir_shader *shader, uint32_t kind);

/*
 One of them, from 0.
 */
enum nvir_status nvir_shader_get_use(const struct nvir_shader *shader,
                                     uint32_t kind,
                                     uint32_t number,
                                     struct nvir_use *out);

/*
 A shader as SASS text (without a zero at its end).
 */
enum nvir_status nvir_shader_sass(const struct nvir_shader *shader, struct nvir_blob **out);

/*
 A shader in NVIDIA's container, for nvdisasm and cuobjdump. NVIR_STATUS_UNSUPPORTED for a kernel that runs whole warps, of
 which the container says nothing.
 */
enum nvir_status nvir_shader_cubin(const struct nvir_shader *shader,
                                   struct nvir_blob **out);

/*
 Words of machine code as SASS text (without a zero at its end).
 */
enum nvir_status nvir_disassemble(uint32_t chip_number,
                                  const uint64_t *words,
                                  size_t count,
                                  struct nvir_blob **out);

/*
 The bytes of a blob.
 */
const uint8_t *nvir_blob_data(const struct nvir_blob *blob);

/*
 How many there are.
 */
size_t nvir_blob_size(const struct nvir_blob *blob);

/*
 Frees a blob; null is allowed.
 */
void nvir_blob_free(struct nvir_blob *blob);

/*
 The whole of an error as people read it: each finding with file, line, column, the line itself and a caret.
 */
const char *nvir_error_text(const struct nvir_error *error);

/*
 The number of findings.
 */
uint32_t nvir_error_count(const struct nvir_error *error);

/*
 One of them, from 0.
 */
enum nvir_status nvir_error_get(const struct nvir_error *error,
                                uint32_t number,
                                struct nvir_diagnostic *out);

/*
 Frees an error; null is allowed.
 */
void nvir_error_free(struct nvir_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NVIR_H */
