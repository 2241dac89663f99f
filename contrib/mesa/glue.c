/* Mesa's nvc0 driver with nvir as its code generator.
 *
 * The driver is linked again with this file and -Wl,--wrap=F for the functions F that have a __wrap_F below: its calls of
 * those functions come here, and __real_F is Mesa's own. `build` beside this file does it; docs/mesa.md tells of the
 * variables. The program goes to nvir as text, which text.c writes.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/disk_cache.h"
#include "util/u_debug.h"

#include "mesa.h"
#include "stage.h"
#include "text.h"

#include <nvir.h>
#include <nvir_nir_options.h>

/* What the driver reserves for the call-return stack of a warp (nvc0_compute.c, nve4_compute.c). */
#define DRIVER_STACK_BYTES 0x800

/* What nv50_ir_generate_code returns: the source is not understood, and no code comes out. */
#define NOT_UNDERSTOOD (-2)
#define NO_CODE (-4)

int __real_nv50_ir_generate_code(struct nv50_ir_prog_info *, struct nv50_ir_prog_info_out *);
int __wrap_nv50_ir_generate_code(struct nv50_ir_prog_info *, struct nv50_ir_prog_info_out *);
void __real_nv50_ir_apply_fixups(void *, uint32_t *, bool, bool, uint8_t, bool);
void __wrap_nv50_ir_apply_fixups(void *, uint32_t *, bool, bool, uint8_t, bool);
bool __real_nv50_ir_prog_info_out_serialize(struct blob *, struct nv50_ir_prog_info_out *);
bool __wrap_nv50_ir_prog_info_out_serialize(struct blob *, struct nv50_ir_prog_info_out *);
bool __real_nv50_ir_prog_info_out_deserialize(void *, size_t, size_t, struct nv50_ir_prog_info_out *);
bool __wrap_nv50_ir_prog_info_out_deserialize(void *, size_t, size_t, struct nv50_ir_prog_info_out *);
struct disk_cache *__real_disk_cache_create(const char *, const char *, uint64_t);
struct disk_cache *__wrap_disk_cache_create(const char *, const char *, uint64_t);
const nir_shader_compiler_options *__real_nv50_ir_nir_shader_compiler_options(int, uint8_t);
const nir_shader_compiler_options *__wrap_nv50_ir_nir_shader_compiler_options(int, uint8_t);

enum mode { MODE_OFF, MODE_ON, MODE_COMPARE };

/* The environment, read once. */
static struct {
   enum mode mode;
   bool fallback;    /* what nvir refuses goes to Mesa's compiler */
   bool own_nir;     /* Mesa is asked for the NIR that suits nvir: Mesa's compiler could not read it */
   const char *dump; /* a folder for the texts that nvir gets */
   FILE *log;        /* what a comparison finds, or if a file was named, what each program takes */
   bool log_named;
} settings;
static pthread_once_t settings_read = PTHREAD_ONCE_INIT;

/* What a compiler made of a shader. */
struct measure {
   int result; /* as nv50_ir_generate_code: 0 is success */
   uint32_t instructions, registers, bytes;
   double text_us, all_us; /* of processor time; all includes the text */
};

/* Sums over the shaders that both compile: Mesa's and ours. */
static pthread_mutex_t totals_lock = PTHREAD_MUTEX_INITIALIZER;
static struct totals {
   uint32_t shaders, failed_theirs, failed_ours;
   uint64_t instructions[2], registers[2], bytes[2];
   double text_us, us[2];
} totals[PIPE_SHADER_TYPES];

static const char *const stage_names[PIPE_SHADER_TYPES] = {
   [PIPE_SHADER_VERTEX] = "vertex",       [PIPE_SHADER_FRAGMENT] = "fragment",   [PIPE_SHADER_GEOMETRY] = "geometry",
   [PIPE_SHADER_TESS_CTRL] = "tess_ctrl", [PIPE_SHADER_TESS_EVAL] = "tess_eval", [PIPE_SHADER_COMPUTE] = "compute",
};

static const char *
language_of(const struct nv50_ir_prog_info *info)
{
   return nir_of(info) ? "nir" : "tgsi";
}

static double
now_us(void)
{
   struct timespec t;
   clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
   return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void
print_totals(void)
{
   for (int stage = 0; stage < PIPE_SHADER_TYPES; stage++) {
      const struct totals *t = &totals[stage];
      if (!t->shaders && !t->failed_theirs && !t->failed_ours)
         continue;
      fprintf(settings.log,
              "nvir total: %s %u shaders, instructions %" PRIu64 " %" PRIu64 ", registers %" PRIu64 " %" PRIu64
              ", bytes %" PRIu64 " %" PRIu64 ", us %.0f %.0f (text %.0f), time ratio %.2f; failed %u %u\n",
              stage_names[stage], t->shaders, t->instructions[0], t->instructions[1], t->registers[0],
              t->registers[1], t->bytes[0], t->bytes[1], t->us[0], t->us[1], t->text_us,
              t->us[0] > 0 ? t->us[1] / t->us[0] : 0, t->failed_theirs, t->failed_ours);
   }
}

static void
read_settings(void)
{
   const char *mode = getenv("NVIR");
   const char *fallback = getenv("NVIR_FALLBACK");
   const char *own_nir = getenv("NVIR_NIR");
   const char *log = getenv("NVIR_LOG");

   settings.mode = MODE_ON;
   if (mode && !strcmp(mode, "0"))
      settings.mode = MODE_OFF;
   else if (mode && !strcmp(mode, "compare"))
      settings.mode = MODE_COMPARE;
   else if (mode && *mode && strcmp(mode, "1"))
      fprintf(stderr, "nvir: NVIR=%s is none of 0, 1 and compare: 1 is taken\n", mode);
   settings.fallback = fallback && !strcmp(fallback, "1");
   settings.own_nir = settings.mode == MODE_ON && !settings.fallback && !(own_nir && !strcmp(own_nir, "0"));
   if (debug_get_bool_option("NV50_PROG_USE_TGSI", false))
      settings.own_nir = false; /* Mesa translates NIR to TGSI then, and asks for what it can translate */
   settings.dump = getenv("NVIR_DUMP");

   settings.log = stderr;
   if (log && *log) {
      FILE *file = fopen(log, "a");
      if (file) {
         setvbuf(file, NULL, _IOLBF, 1024); /* a line is one write: processes may share the file */
         settings.log = file;
         settings.log_named = true;
      } else {
         fprintf(stderr, "nvir: NVIR_LOG=%s cannot be written\n", log);
      }
   }
   if (settings.mode == MODE_COMPARE)
      atexit(print_totals);
}

/* nvir's chip; -1 where Mesa's driver knows a chip that nvir does not compile for. */
static int
chip_of(uint16_t chipset)
{
   switch (chipset & ~0xf) {
   case 0xc0:
   case 0xd0:
      return NVIR_CHIP_GF100;
   case 0xe0:
      return chipset < NVISA_GK20A_CHIPSET ? NVIR_CHIP_GK104 : -1;
   case 0xf0:
   case 0x100:
      return NVIR_CHIP_GK110;
   default:
      return -1;
   }
}

static const char *
chip_name(int chip)
{
   static const char *const names[] = { "gf100", "gk104", "gk110" };
   return names[chip];
}

/* FNV-1a: names texts in dumps and listings, and tells messages apart. */
static uint64_t
hash_of(const char *text, size_t length)
{
   uint64_t hash = 0xcbf29ce484222325;
   for (size_t i = 0; i < length; i++)
      hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3;
   return hash;
}

/* Tells what is wrong, once: the driver tries a shader that failed again at every launch. */
static void
complain(const char *message)
{
   static atomic_uint_least64_t last;
   uint64_t hash = hash_of(message, strlen(message));
   if (atomic_exchange(&last, hash) != hash)
      fprintf(stderr, "nvir: %s\n", message);
}

static void
dump_text(const char *text, size_t length, uint64_t name, const char *ending)
{
   char path[4096];
   snprintf(path, sizeof(path), "%s/%016" PRIx64 ".%s", settings.dump, name, ending);
   FILE *file = fopen(path, "wb");
   if (!file)
      return;
   fwrite(text, 1, length, file);
   fclose(file);
}

/* What nv50_ir sets before it begins. */
static void
begin(const struct nv50_ir_prog_info *info, struct nv50_ir_prog_info_out *out)
{
   out->target = info->target;
   out->type = info->type;
   out->bin.maxGPR = -1;
   out->bin.smemSize = info->bin.smemSize;
   out->io.genUserClip = info->io.genUserClip;
   out->io.instanceId = 0xff;
   out->io.vertexId = 0xff;
   out->io.edgeFlagIn = 0xff;
   out->io.edgeFlagOut = 0xff;
   out->io.fragDepth = 0xff;
   out->io.sampleMask = 0xff;
}

/* What the driver keeps beside the code of a fragment shader, hands to nv50_ir_apply_fixups, and frees. Mesa's own begin with
 * their number, which is never that large. */
struct fixups {
   uint32_t mark;
   uint32_t chip;
   uint32_t code_bytes;
   uint32_t count;
   nvir_fixup list[];
};
#define OUR_FIXUPS UINT32_MAX

static struct fixups *
fixups_new(uint32_t chip, uint32_t code_bytes, uint32_t count)
{
   struct fixups *fixups = calloc(1, sizeof(*fixups) + count * sizeof(fixups->list[0]));
   if (fixups)
      *fixups = (struct fixups) { .mark = OUR_FIXUPS, .chip = chip, .code_bytes = code_bytes, .count = count };
   return fixups;
}

static struct fixups *
our_fixups(void *data)
{
   struct fixups *fixups = data;
   return fixups && fixups->mark == OUR_FIXUPS ? fixups : NULL;
}

/* The instructions of a shader that the rasteriser's state changes, if there are any; false where there is no memory. */
static bool
fixups_of(const nvir_shader *shader, int chip, uint32_t code_bytes, void **data)
{
   nvir_stage_info stage = { .size = sizeof(stage) };
   if (nvir_shader_get_stage(shader, &stage) != NVIR_STATUS_OK || stage.fixups == 0)
      return true;
   struct fixups *fixups = fixups_new(chip, code_bytes, stage.fixups);
   for (uint32_t n = 0; fixups && n < stage.fixups; n++)
      nvir_shader_get_fixup(shader, n, &fixups->list[n]);
   *data = fixups;
   return fixups != NULL;
}

/* When a fragment shader is loaded in another state. */
void
__wrap_nv50_ir_apply_fixups(void *data, uint32_t *code, bool per_sample, bool flat_shade, uint8_t alpha_test,
                            bool multisampled)
{
   struct fixups *fixups = our_fixups(data);
   nvir_state state = { .flat_shade = flat_shade, .per_sample = per_sample, .multisampled = multisampled };
   if (!fixups)
      __real_nv50_ir_apply_fixups(data, code, per_sample, flat_shade, alpha_test, multisampled);
   else if (nvir_apply_fixups(fixups->chip, fixups->list, fixups->count, &state, (uint64_t *)code,
                              fixups->code_bytes, NULL, NULL) != NVIR_STATUS_OK)
      complain("a fixup lies outside its code");
}

/* Mesa's cache of compiled shaders knows fixups of Mesa's compiler only: ours stand before what it writes. */
bool
__wrap_nv50_ir_prog_info_out_serialize(struct blob *blob, struct nv50_ir_prog_info_out *out)
{
   pthread_once(&settings_read, read_settings);
   if (settings.mode == MODE_OFF)
      return __real_nv50_ir_prog_info_out_serialize(blob, out);
   void *data = out->bin.fixupData;
   struct fixups *fixups = our_fixups(data);
   blob_write_uint32(blob, fixups ? fixups->count : 0);
   if (fixups) {
      blob_write_uint32(blob, fixups->chip);
      blob_write_uint32(blob, fixups->code_bytes);
      blob_write_bytes(blob, fixups->list, fixups->count * sizeof(fixups->list[0]));
      out->bin.fixupData = NULL;
   }
   bool written = __real_nv50_ir_prog_info_out_serialize(blob, out);
   out->bin.fixupData = data;
   return written;
}

bool
__wrap_nv50_ir_prog_info_out_deserialize(void *data, size_t size, size_t offset, struct nv50_ir_prog_info_out *out)
{
   pthread_once(&settings_read, read_settings);
   if (settings.mode == MODE_OFF)
      return __real_nv50_ir_prog_info_out_deserialize(data, size, offset, out);
   struct fixups *fixups = NULL;
   struct blob_reader reader;
   blob_reader_init(&reader, data, size);
   blob_skip_bytes(&reader, offset);
   uint32_t count = blob_read_uint32(&reader);
   if (count) {
      uint32_t chip = blob_read_uint32(&reader), code_bytes = blob_read_uint32(&reader);
      const void *list = blob_read_bytes(&reader, count * sizeof(nvir_fixup));
      if (reader.overrun || !(fixups = fixups_new(chip, code_bytes, count)))
         return false;
      memcpy(fixups->list, list, count * sizeof(nvir_fixup));
   }
   if (!__real_nv50_ir_prog_info_out_deserialize(data, size, reader.current - (uint8_t *)data, out)) {
      free(fixups);
      return false;
   }
   if (fixups)
      out->bin.fixupData = fixups;
   return true;
}

/* Hands a shader to the driver, which frees what it is given. Code runs wherever it lies, and the routines that it calls are
 * in it. */
static int
hand_over(const struct nv50_ir_prog_info *shape, int chip, const nvir_shader *shader, struct nv50_ir_prog_info_out *out)
{
   bool compute = shape->type == PIPE_SHADER_COMPUTE;
   nvir_shader_info info = { .size = sizeof(info) };
   if (nvir_shader_get_info(shader, &info) != NVIR_STATUS_OK)
      return NO_CODE;
   if (info.stack_bytes > (compute ? DRIVER_STACK_BYTES : 0)) {
      complain("the program calls and branches deeper than the driver has stack for");
      return NO_CODE;
   }
   if (info.whole_warps) {
      complain("the program runs whole warps, which the driver does not launch");
      return NO_CODE;
   }
   if (!compute && !stage_describe(shape, shader, out)) {
      complain("the program has more inputs or outputs than the driver knows");
      return NO_CODE;
   }
   if (!fixups_of(shader, chip, info.code_bytes, &out->bin.fixupData))
      return NO_CODE;
   out->bin.code = malloc(info.code_bytes);
   if (!out->bin.code)
      return NO_CODE;
   memcpy(out->bin.code, info.code, info.code_bytes);
   out->bin.codeSize = info.code_bytes;
   out->bin.instructions = info.instructions;
   out->bin.maxGPR = (int16_t)info.registers - 1;
   out->bin.tlsSpace = (info.local_bytes + 0xf) & ~0xfu;
   if (!compute)
      return 0;
   if (info.shared_bytes > out->bin.smemSize)
      out->bin.smemSize = info.shared_bytes;
   out->numBarriers = info.barriers;
   /* These go to a header that launches of compute do not read: the cautious answer. */
   out->io.globalAccess = 3;
   out->io.fp64 = true;
   return 0;
}

/* Programs compiled lately: the driver compiles one again when state that it was compiled for comes back, and applications and
 * Mesa itself make the same ones over and over. A place for each hash; the next program with that hash takes it over. */
#define KEPT_PROGRAMS 512
#define KEPT_TEXT_BYTES (64 << 10) /* longer ones are not kept */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept {
   int chip;
   nvir_options options;
   size_t length;
   char *text;
   nvir_shader *shader;
} kept[KEPT_PROGRAMS];

static struct kept *
kept_place(int chip, const nvir_options *options, uint64_t name)
{
   uint64_t hash = name ^ hash_of((const char *)options, sizeof(*options)) ^ (uint64_t)chip << 32;
   return &kept[(hash ^ hash >> 32) % KEPT_PROGRAMS];
}

/* Hands over what was made of a text before; false: nothing is kept in its place. */
static bool
hand_over_kept(struct kept *k, const struct nv50_ir_prog_info *info, int chip, const nvir_options *options, const char *text,
               size_t length, struct nv50_ir_prog_info_out *out, int *result)
{
   pthread_mutex_lock(&kept_lock);
   bool same = k->shader && k->chip == chip && k->length == length && !memcmp(&k->options, options, sizeof(*options)) &&
               !memcmp(k->text, text, length);
   if (same)
      *result = hand_over(info, chip, k->shader, out);
   pthread_mutex_unlock(&kept_lock);
   return same;
}

/* Takes over a shader. */
static void
keep(struct kept *k, int chip, const nvir_options *options, const char *text, size_t length, nvir_shader *shader)
{
   char *copy = length <= KEPT_TEXT_BYTES ? malloc(length) : NULL;
   if (!copy) {
      nvir_shader_free(shader);
      return;
   }
   memcpy(copy, text, length);
   pthread_mutex_lock(&kept_lock);
   struct kept old = *k;
   *k = (struct kept) { chip, *options, length, copy, shader };
   pthread_mutex_unlock(&kept_lock);
   free(old.text);
   nvir_shader_free(old.shader);
}

static int
compile_text(const struct nv50_ir_prog_info *info, int chip, const char *text, size_t length, uint64_t name,
             struct nv50_ir_prog_info_out *out)
{
   bool nir = nir_of(info) != NULL;
   nvir_options options;
   nvir_compiler *compiler = NULL;
   nvir_shader *shader = NULL;
   nvir_error *error = NULL;
   nvir_status status;
   int result;

   memset(&options, 0, sizeof(options)); /* compared whole, with what lies between its members */
   nvir_options_init(&options, sizeof(options));
   options.opt_level = MIN2(info->optLevel, 3); /* Mesa 25's fourth is a pass of its compiler; ours is -Os */
   stage_options(info, &options);
   struct kept *place = kept_place(chip, &options, name);
   if (hand_over_kept(place, info, chip, &options, text, length, out, &result))
      return result;
   status = nvir_compiler_new(chip, &options, &compiler);
   if (status == NVIR_STATUS_OK) {
      uint32_t language = nir ? NVIR_LANGUAGE_NIR : NVIR_LANGUAGE_TGSI;
      status = nvir_compile(compiler, language, text, length, NULL, language_of(info), &shader, &error);
   }
   if (status == NVIR_STATUS_OK) {
      result = hand_over(info, chip, shader, out);
      keep(place, chip, &options, text, length, shader);
   } else {
      complain(error ? nvir_error_text(error) : "the compiler was called wrongly");
      result = status == NVIR_STATUS_INPUT ? NOT_UNDERSTOOD : NO_CODE;
   }
   nvir_error_free(error);
   nvir_compiler_free(compiler);
   return result;
}

/* Our compiler. `name` gets a hash of the text. */
static struct measure
compile_ours(const struct nv50_ir_prog_info *info, int chip, struct nv50_ir_prog_info_out *out, uint64_t *name)
{
   struct measure made = { .result = NO_CODE };
   double start = now_us(), printed;
   size_t length = 0;
   char *text = text_of(info, &length);

   printed = now_us();
   begin(info, out);
   if (text) {
      *name = hash_of(text, length);
      made.result = compile_text(info, chip, text, length, *name, out);
   }
   made.text_us = printed - start;
   made.all_us = now_us() - start;
   made.instructions = out->bin.instructions;
   made.registers = out->bin.maxGPR + 1;
   made.bytes = out->bin.codeSize;
   if (text && settings.dump)
      dump_text(text, length, *name, language_of(info));
   free(text);
   return made;
}

static struct measure
measure_theirs(struct nv50_ir_prog_info *info, struct nv50_ir_prog_info_out *out)
{
   double start = now_us();
   struct measure made = { .result = __real_nv50_ir_generate_code(info, out) };
   made.all_us = now_us() - start;
   made.instructions = out->bin.instructions;
   made.registers = out->bin.maxGPR + 1;
   made.bytes = out->bin.codeSize;
   return made;
}

/* Mesa's compiler, on copies: it changes what it is given, as ours does before it is printed. `nir` is a copy of the program from
 * before that, if it is one in NIR. What is made is thrown away. */
static struct measure
compile_theirs(const struct nv50_ir_prog_info *info, nir_shader *nir)
{
   struct nv50_ir_prog_info copy = *info;
   struct nv50_ir_prog_info_out out = { 0 };

   if (nir)
      set_nir(&copy, nir);
   struct measure made = measure_theirs(&copy, &out);
   free(out.bin.code);
   free(out.bin.relocData);
   free(out.bin.fixupData);
   ralloc_free(nir);
   return made;
}

static void
report(const struct nv50_ir_prog_info *info, int chip, uint64_t name, const struct measure *theirs,
       const struct measure *ours)
{
   struct totals *t = &totals[info->type];
   pthread_mutex_lock(&totals_lock);
   t->failed_theirs += theirs->result != 0;
   t->failed_ours += ours->result != 0;
   if (!theirs->result && !ours->result) {
      t->shaders++;
      t->instructions[0] += theirs->instructions;
      t->instructions[1] += ours->instructions;
      t->registers[0] += theirs->registers;
      t->registers[1] += ours->registers;
      t->bytes[0] += theirs->bytes;
      t->bytes[1] += ours->bytes;
      t->us[0] += theirs->all_us;
      t->us[1] += ours->all_us;
      t->text_us += ours->text_us;
   }
   fprintf(settings.log,
           "nvir compare: %016" PRIx64 " %s %s %s result %d %d instructions %u %u registers %u %u bytes %u %u "
           "us %.0f %.0f text %.0f\n",
           name, chip_name(chip), stage_names[info->type], language_of(info),
           theirs->result, ours->result, theirs->instructions, ours->instructions, theirs->registers,
           ours->registers, theirs->bytes, ours->bytes, theirs->all_us, ours->all_us, ours->text_us);
   pthread_mutex_unlock(&totals_lock);
}

/* What one compiler makes in a driver as people use it, where NVIR_LOG asks for it. */
static void
report_alone(const struct nv50_ir_prog_info *info, int chip, const char *compiler, const struct measure *made)
{
   if (settings.log_named)
      fprintf(settings.log, "nvir made: %s %s %s by %s result %d instructions %u registers %u bytes %u us %.0f text %.0f\n",
              chip_name(chip), stage_names[info->type], language_of(info),
              compiler, made->result, made->instructions, made->registers, made->bytes, made->all_us, made->text_us);
}

/* Mesa's compiler, as if there were no other. */
static int
compile_as_without_nvir(struct nv50_ir_prog_info *info, int chip, struct nv50_ir_prog_info_out *out)
{
   struct measure made = measure_theirs(info, out);
   if (chip >= 0)
      report_alone(info, chip, "mesa", &made);
   return made.result;
}

int
__wrap_nv50_ir_generate_code(struct nv50_ir_prog_info *info, struct nv50_ir_prog_info_out *out)
{
   struct nv50_ir_prog_info_out clean = *out;
   struct measure ours;
   uint64_t name = 0;
   int chip;

   pthread_once(&settings_read, read_settings);
   chip = chip_of(info->target);
   if (settings.mode == MODE_OFF || chip < 0)
      return compile_as_without_nvir(info, chip, out);

   if (settings.mode == MODE_COMPARE) {
      /* Whoever is second finds the program and its memory in the processor's caches: they take turns. */
      static atomic_uint turn[PIPE_SHADER_TYPES];
      bool ours_first = atomic_fetch_add(&turn[info->type], 1) % 2 == 0;
      nir_shader *copy = nir_of(info) ? nir_shader_clone(NULL, nir_of(info)) : NULL;
      struct measure theirs = { 0 };
      if (!ours_first)
         theirs = compile_theirs(info, copy);
      ours = compile_ours(info, chip, out, &name);
      if (ours_first)
         theirs = compile_theirs(info, copy);
      report(info, chip, name, &theirs, &ours);
   } else {
      ours = compile_ours(info, chip, out, &name);
      report_alone(info, chip, "nvir", &ours);
   }
   if (ours.result && settings.fallback) {
      *out = clean;
      return __real_nv50_ir_generate_code(info, out);
   }
   return ours.result;
}

/* A program that goes through most of the compiler. */
static const char first_program[] =
   "shader: MESA_SHADER_VERTEX\n"
   "decl_var uniform INTERP_MODE_NONE vec4 scale (0, 0, 0)\n"
   "decl_var uniform INTERP_MODE_NONE vec4 limit (1, 1, 0)\n"
   "decl_var shader_in INTERP_MODE_NONE vec4 place (VERT_ATTRIB_GENERIC0.xyzw, 0, 0)\n"
   "decl_var shader_in INTERP_MODE_NONE vec4 color (VERT_ATTRIB_GENERIC1.xyzw, 1, 0)\n"
   "decl_var shader_out INTERP_MODE_NONE vec4 gl_Position (VARYING_SLOT_POS.xyzw, 0, 0)\n"
   "decl_var shader_out INTERP_MODE_NONE vec4 passed (VARYING_SLOT_VAR0.xyzw, 1, 0)\n"
   "decl_function main (0 params)\n"
   "impl main {\n"
   "block b0:\n"
   "32 %0 = deref_var &place (shader_in vec4)\n"
   "32x4 %1 = @load_deref (%0)\n"
   "32 %2 = deref_var &color (shader_in vec4)\n"
   "32x4 %3 = @load_deref (%2)\n"
   "32 %4 = load_const (0x0)\n"
   "32x4 %5 = @load_uniform (%4) (range=1, dest_type=float32)\n"
   "32x4 %6 = @load_uniform (%4) (base=1, range=1, dest_type=float32)\n"
   "32x4 %7 = fmul %1, %5\n"
   "32x4 %8 = fadd %7, %6\n"
   "1 %9 = flt %8.x, %6.y\n"
   "if %9 {\n"
   "block b1:\n"
   "32x4 %10 = fmax %8, %5\n"
   "32x4 %11 = fmul %10, %3\n"
   "} else {\n"
   "block b2:\n"
   "32x4 %12 = fneg %8\n"
   "}\n"
   "block b3:\n"
   "32x4 %13 = phi b1: %11, b2: %12\n"
   "32 %14 = deref_var &gl_Position (shader_out vec4)\n"
   "@store_deref (%14, %13) (wrmask=xyzw)\n"
   "32 %15 = deref_var &passed (shader_out vec4)\n"
   "@store_deref (%15, %3) (wrmask=xyzw)\n"
   "block b4:\n"
   "}\n";

/* A number for this library of ours: the key of a text, which the compiler gives that is the first of the process. Its tables are
 * made, and its pages read, now, when the screen is made, and not when the first shader is drawn with. */
static uint64_t
library_id(const char *gpu)
{
   nvir_compiler *compiler = NULL;
   nvir_shader *shader = NULL;
   unsigned chipset = 0;
   uint8_t key[32] = { 0 };
   uint64_t id;
   int chip = sscanf(gpu, "NV%x", &chipset) == 1 ? chip_of(chipset) : -1;
   if (nvir_compiler_new(chip < 0 ? NVIR_CHIP_GF100 : chip, NULL, &compiler) == NVIR_STATUS_OK) {
      size_t length = sizeof(first_program) - 1;
      nvir_cache_key(compiler, NVIR_LANGUAGE_NIR, first_program, length, NULL, key);
      nvir_compile(compiler, NVIR_LANGUAGE_NIR, first_program, length, NULL, "first", &shader, NULL);
      nvir_shader_free(shader);
   }
   nvir_compiler_free(compiler);
   memcpy(&id, key, sizeof(id));
   return id;
}

/* The cache of compiled shaders is told which compiler made them, so that what one made is not taken for the other's. */
struct disk_cache *
__wrap_disk_cache_create(const char *gpu, const char *driver, uint64_t flags)
{
   pthread_once(&settings_read, read_settings);
   if (settings.mode != MODE_OFF)
      flags ^= library_id(gpu) + settings.own_nir;
   return __real_disk_cache_create(gpu, driver, flags);
}

static nir_shader_compiler_options own_options[PIPE_SHADER_TYPES];
static pthread_once_t own_options_made = PTHREAD_ONCE_INIT;

/* Mesa's own for these chips, with the fields that nvir has an opinion on: `build` makes a line of each of nvir's constants. */
static void
make_own_options(void)
{
   for (int type = 0; type < PIPE_SHADER_TYPES; type++) {
      nir_shader_compiler_options *options = &own_options[type];
      *options = *__real_nv50_ir_nir_shader_compiler_options(NVISA_GF100_CHIPSET, type);
#include "nir_options.inc"
   }
}

/* What the state tracker lowers before the driver sees a shader. */
const nir_shader_compiler_options *
__wrap_nv50_ir_nir_shader_compiler_options(int chipset, uint8_t type)
{
   pthread_once(&settings_read, read_settings);
   if (!settings.own_nir || type >= PIPE_SHADER_TYPES || chip_of(chipset) < 0)
      return __real_nv50_ir_nir_shader_compiler_options(chipset, type);
   pthread_once(&own_options_made, make_own_options);
   return &own_options[type];
}
