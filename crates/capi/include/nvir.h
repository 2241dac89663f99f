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
 The stages of a program.
 */
typedef enum nvir_stage {
  /*
   A compute kernel.
   */
  NVIR_STAGE_COMPUTE = 0,
  /*
   A vertex shader.
   */
  NVIR_STAGE_VERTEX = 1,
  /*
   A tessellation control shader.
   */
  NVIR_STAGE_TESS_CONTROL = 2,
  /*
   A tessellation evaluation shader.
   */
  NVIR_STAGE_TESS_EVAL = 3,
  /*
   A geometry shader.
   */
  NVIR_STAGE_GEOMETRY = 4,
  /*
   A fragment shader.
   */
  NVIR_STAGE_FRAGMENT = 5,
} nvir_stage;

/*
 What the tessellator makes of a patch.
 */
typedef enum nvir_domain {
  /*
   The program does not say it.
   */
  NVIR_DOMAIN_UNKNOWN = 0,
  /*
   A triangle.
   */
  NVIR_DOMAIN_TRIANGLES = 1,
  /*
   A square.
   */
  NVIR_DOMAIN_QUADS = 2,
  /*
   Parallel lines.
   */
  NVIR_DOMAIN_ISOLINES = 3,
} nvir_domain;

/*
 How the tessellator divides edges.
 */
typedef enum nvir_spacing {
  /*
   The program does not say it.
   */
  NVIR_SPACING_UNKNOWN = 0,
  /*
   In equal parts.
   */
  NVIR_SPACING_EQUAL = 1,
  /*
   In an odd number of parts, two of which grow.
   */
  NVIR_SPACING_FRACTIONAL_ODD = 2,
  /*
   In an even number of parts, two of which grow.
   */
  NVIR_SPACING_FRACTIONAL_EVEN = 3,
} nvir_spacing;

/*
 What an input or output is.
 */
typedef enum nvir_semantic {
  /*
   An input of a vertex shader, by its number.
   */
  NVIR_SEMANTIC_ATTRIBUTE = 0,
  /*
   Position; in a fragment shader x, y, z in the window and 1/w.
   */
  NVIR_SEMANTIC_POSITION = 1,
  /*
   What the application names.
   */
  NVIR_SEMANTIC_GENERIC = 2,
  /*
   Texture coordinates of the fixed pipeline.
   */
  NVIR_SEMANTIC_TEX_COORD = 3,
  /*
   Front colour; of a fragment shader the colour of the side that faces the viewer, or an output.
   */
  NVIR_SEMANTIC_COLOR = 4,
  /*
   Back colour.
   */
  NVIR_SEMANTIC_BACK_COLOR = 5,
  /*
   Fog coordinate.
   */
  NVIR_SEMANTIC_FOG = 6,
  /*
   Point size.
   */
  NVIR_SEMANTIC_POINT_SIZE = 7,
  /*
   Coordinates in a point sprite.
   */
  NVIR_SEMANTIC_POINT_COORD = 8,
  /*
   Position against which user clip planes are held.
   */
  NVIR_SEMANTIC_CLIP_VERTEX = 9,
  /*
   Four clip or cull distances.
   */
  NVIR_SEMANTIC_CLIP_DISTANCE = 10,
  /*
   Number of the primitive.
   */
  NVIR_SEMANTIC_PRIMITIVE_ID = 11,
  /*
   Layer of the framebuffer.
   */
  NVIR_SEMANTIC_LAYER = 12,
  /*
   Number of the viewport.
   */
  NVIR_SEMANTIC_VIEWPORT_INDEX = 13,
  /*
   Edge flag.
   */
  NVIR_SEMANTIC_EDGE_FLAG = 14,
  /*
   Whether a fragment belongs to a front face.
   */
  NVIR_SEMANTIC_FACE = 15,
  /*
   Outer tessellation levels.
   */
  NVIR_SEMANTIC_TESS_OUTER = 16,
  /*
   Inner tessellation levels.
   */
  NVIR_SEMANTIC_TESS_INNER = 17,
  /*
   Attribute of a patch.
   */
  NVIR_SEMANTIC_PATCH = 18,
  /*
   Where in its patch a vertex lies.
   */
  NVIR_SEMANTIC_TESS_COORD = 19,
  /*
   Number of the vertex.
   */
  NVIR_SEMANTIC_VERTEX_ID = 20,
  /*
   Number of the instance.
   */
  NVIR_SEMANTIC_INSTANCE_ID = 21,
  /*
   Depth that a fragment shader writes.
   */
  NVIR_SEMANTIC_DEPTH = 22,
  /*
   Stencil value that a fragment shader writes, which these chips cannot.
   */
  NVIR_SEMANTIC_STENCIL = 23,
  /*
   Coverage mask that a fragment shader writes.
   */
  NVIR_SEMANTIC_SAMPLE_MASK = 24,
} nvir_semantic;

/*
 Where an input or output lies.
 */
typedef enum nvir_place {
  /*
   Nowhere: the driver takes care of it.
   */
  NVIR_PLACE_NOWHERE = 0,
  /*
   In the attributes of a vertex: component x at a byte address, the others four bytes further each.
   */
  NVIR_PLACE_VERTEX = 1,
  /*
   In the attributes of a patch, likewise.
   */
  NVIR_PLACE_PATCH = 2,
  /*
   In a register when a fragment shader ends, the other components in the next ones.
   */
  NVIR_PLACE_REGISTER = 3,
} nvir_place;

/*
 What a fixup is about.
 */
typedef enum nvir_fixup_kind {
  /*
   An interpolation, which flat shading and shading for each sample change.
   */
  NVIR_FIXUP_KIND_INTERPOLATION = 0,
  /*
   A selection by whether the shader is made to run for each sample.
   */
  NVIR_FIXUP_KIND_PER_SAMPLE = 1,
  /*
   A selection by whether the target has several samples.
   */
  NVIR_FIXUP_KIND_MULTISAMPLED = 2,
} nvir_fixup_kind;

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
   0 to 3; 3 by default. 4 is 3 without what makes code longer.
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
  /*
   User clip planes that a vertex, tessellation or geometry program evaluates, 0 to 8: those up to the highest that is
   switched on.
   */
  uint32_t clip_planes;
  /*
   How many of the values in CLIPDIST clip and how many cull: NIR text says only the sum; 0 and 0: it is as the text
   says.
   */
  uint32_t clip_distances;
  /*
   See above.
   */
  uint32_t cull_distances;
  /*
   What a tessellation program declares, of which NIR text says nothing: vertices of the patch that the control program
   writes; 0: not said.
   */
  uint32_t tess_vertices_out;
  /*
   An nvir_domain.
   */
  uint32_t tess_domain;
  /*
   An nvir_spacing.
   */
  uint32_t tess_spacing;
  /*
   1: triangles are counter-clockwise.
   */
  uint32_t tess_counter_clockwise;
  /*
   1: points rather than lines or triangles.
   */
  uint32_t tess_points;
  /*
   What a geometry program declares; it counts if `geometry_vertices_in` is not 0, otherwise the text says it.
   Primitives have OpenGL's numbers.
   */
  uint32_t geometry_input;
  /*
   See above.
   */
  uint32_t geometry_output;
  /*
   Vertices that an invocation may emit.
   */
  uint32_t geometry_vertices_out;
  /*
   Vertices of a primitive that it gets.
   */
  uint32_t geometry_vertices_in;
  /*
   Invocations a primitive.
   */
  uint32_t geometry_invocations;
  /*
   Streams that it emits to, one bit each.
   */
  uint32_t geometry_streams;
  /*
   What a fragment program declares, of which NIR text says nothing: 1 if depth and stencil tests come before it runs.
   */
  uint32_t early_fragment_tests;
  /*
   1 if the coverage mask is that after the early tests.
   */
  uint32_t post_depth_coverage;
  /*
   1: a stage behind the program's reads its clip vertex, which is stored then if there are no clip planes.
   */
  uint32_t clip_vertex_read;
  /*
   1: a graphics program's arithmetic on single floats takes subnormal numbers for zero, and gives zero for them.
   */
  uint32_t flush_subnormals;
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

/*
 What a graphics stage needs of its driver. Words and bits are those of the hardware; Mesa's nvc0 has the same in
 nv50_ir_prog_info_out, from which it makes the header itself.
 */
typedef struct nvir_stage_info {
  /*
   sizeof(nvir_stage_info), set by the caller.
   */
  uint32_t size;
  /*
   The stage: an nvir_stage.
   */
  uint32_t stage;
  /*
   The shader program header, which is loaded in front of the code.
   */
  uint32_t header[20];
  /*
   Inputs, outputs and fixups that there are.
   */
  uint32_t inputs;
  /*
   See above.
   */
  uint32_t outputs;
  /*
   See above.
   */
  uint32_t fixups;
  /*
   Clip distances that are written, a bit each.
   */
  uint32_t clip_enable;
  /*
   Cull distances that are written, a bit each: the bits after those of the clip distances.
   */
  uint32_t cull_enable;
  /*
   The hardware's clip mode: bit 4i for each distance i that culls.
   */
  uint32_t clip_mode;
  /*
   User clip planes that the code evaluates: nvir_options has how many were asked for.
   */
  uint32_t clip_planes;
  /*
   1: the program takes user clip planes; 0: it writes distances itself or makes no positions.
   */
  uint32_t takes_clip_planes;
  /*
   VERTEX: the input that is the edge flag; 0xffffffff: none.
   */
  uint32_t edge_flag;
  /*
   VERTEX: 1 if it reads the number of the vertex.
   */
  uint32_t needs_vertex_id;
  /*
   VERTEX: 1 if it reads base vertex, base instance or draw number from the driver's constants.
   */
  uint32_t needs_draw_parameters;
  /*
   1 if it writes the layer.
   */
  uint32_t writes_layer;
  /*
   Tessellation: the hardware's mode; 0xffffffff if the other tessellation shader says it.
   */
  uint32_t tess_mode;
  /*
   Tessellation: an nvir_domain.
   */
  uint32_t tess_domain;
  /*
   Tessellation: an nvir_spacing.
   */
  uint32_t tess_spacing;
  /*
   Tessellation: 1 if triangles wind clockwise.
   */
  uint32_t tess_clockwise;
  /*
   Tessellation: 1 if points are made.
   */
  uint32_t tess_points;
  /*
   FRAGMENT: flags of the early depth test (ZCULL_TEST_MASK).
   */
  uint32_t zcull_flags;
  /*
   FRAGMENT: colour inputs whose interpolation is the rasteriser's choice: the header's code of interpolation (1 flat, 2
   perspective, 3 linear) in bits 0 and 1, components that are read from bit 4 on; 0: it is no such input.
   */
  uint32_t colors[2];
  /*
   FRAGMENT: 1 if depth and stencil tests come before it runs.
   */
  uint32_t early_tests;
  /*
   FRAGMENT: 1 if it reads the coverage mask.
   */
  uint32_t reads_sample_mask;
  /*
   FRAGMENT: 1 if it reads the framebuffer.
   */
  uint32_t reads_framebuffer;
  /*
   FRAGMENT: 1 if the coverage mask is that after the early tests.
   */
  uint32_t post_depth_coverage;
} nvir_stage_info;

/*
 An input or output.
 */
typedef struct nvir_slot {
  /*
   An nvir_semantic.
   */
  uint32_t semantic;
  /*
   Which of these, from 0.
   */
  uint32_t index;
  /*
   Components that the program uses, x in bit 0.
   */
  uint32_t mask;
  /*
   An nvir_place.
   */
  uint32_t place;
  /*
   The address or register there.
   */
  uint32_t address;
} nvir_slot;

/*
 An instruction of a fragment shader that depends on the rasteriser's state. It holds no pointers: it may be stored
 beside the code and be used by another process.
 */
typedef struct nvir_fixup {
  /*
   Its byte address in the code.
   */
  uint32_t pc;
  /*
   An nvir_fixup_kind.
   */
  uint8_t kind;
  /*
   Of an interpolation as it was compiled: the instruction's mode.
   */
  uint8_t mode;
  /*
   Where it interpolates.
   */
  uint8_t sample;
  /*
   The register that it multiplies with.
   */
  uint8_t w;
} nvir_fixup;

/*
 State of the rasteriser on which code depends.
 */
typedef struct nvir_state {
  /*
   1: colours without an interpolation of their own are flat.
   */
  uint32_t flat_shade;
  /*
   1: the shader is made to run for each sample.
   */
  uint32_t per_sample;
  /*
   1: the target has several samples.
   */
  uint32_t multisampled;
} nvir_state;

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
 A compiler for Mesa's nvc0 driver on a chip (an nvir_chip). Without options: the defaults. The first one of a process and
 chip makes the tables that all share: a driver makes one when it opens the device, and no draw waits for them.
 */
enum nvir_status nvir_compiler_new(uint32_t chip_number,
                                   const struct nvir_options *options,
                                   struct nvir_compiler **out);

/*
 Frees a compiler; null is allowed.
 */
void nvir_compiler_free(struct nvir_compiler *compiler);

/*
 Compiles one kernel, or the program of a graphics stage, of a text of `length` bytes, which need not end in a zero. `entry` is its name (null: the only one),
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

/*
 What the driver must know of a graphics shader. `info->size` is the caller's sizeof(nvir_stage_info).
 NVIR_STATUS_UNSUPPORTED for a compute kernel, which has nothing of it.
 */
enum nvir_status nvir_shader_get_stage(const struct nvir_shader *shader,
                                       struct nvir_stage_info *info);

/*
 One of a shader's inputs, from 0, in the program's order.
 */
enum nvir_status nvir_shader_get_input(const struct nvir_shader *shader,
                                       uint32_t number,
                                       struct nvir_slot *out);

/*
 One of its outputs.
 */
enum nvir_status nvir_shader_get_output(const struct nvir_shader *shader,
                                        uint32_t number,
                                        struct nvir_slot *out);

/*
 One of its fixups: instructions that nvir_apply_fixups changes.
 */
enum nvir_status nvir_shader_get_fixup(const struct nvir_shader *shader,
                                       uint32_t number,
                                       struct nvir_fixup *out);

/*
 Makes code and header what they are in a state of the rasteriser. `code` has `code_bytes` bytes, as compiled or as left by an
 earlier call; `header` may be null for a driver that makes its own, otherwise it has twenty words and `colors` is that of
 nvir_stage_info. NVIR_STATUS_INPUT, with nothing changed, if a fixup lies outside the code or is none.
 */
enum nvir_status nvir_apply_fixups(uint32_t chip_number,
                                   const struct nvir_fixup *fixups,
                                   uint32_t count,
                                   const struct nvir_state *state,
                                   uint64_t *code,
                                   uint32_t code_bytes,
                                   uint32_t *header,
                                   const uint32_t *colors);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NVIR_H */
