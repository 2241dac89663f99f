/* Graphics stages between nvir and Mesa's nvc0 driver.
 *
 * The driver makes the shader program header itself, of lists of inputs and outputs. nvir has made one as well, and knows
 * better what its code accesses: so the lists are made of the bits of that header, and come out as it.
 */
#include "stage.h"

#include "pipe/p_shader_tokens.h"
#include "tgsi/tgsi_from_mesa.h"
#include "tgsi/tgsi_scan.h"
#include "util/bitscan.h"

#include "mesa.h"

/* Attributes have 64 rows of four words: words 5 to 12 of a header have a bit for each word that is read. */
#define ROWS 64

void
stage_options(const struct nv50_ir_prog_info *info, nvir_options *options)
{
   /* nv50_ir has subnormal numbers flushed in all stages but compute. */
   options->clip_vertex_read = true; /* a geometry shader may follow, now or later */
   options->flush_subnormals = info->type != PIPE_SHADER_COMPUTE;
   if (info->type != PIPE_SHADER_COMPUTE && info->io.genUserClip > 0)
      options->clip_planes = info->io.genUserClip;
   const nir_shader *nir = nir_of(info);
   if (!nir)
      return;

   static const uint32_t domains[] = {
      [TESS_PRIMITIVE_TRIANGLES] = NVIR_DOMAIN_TRIANGLES,
      [TESS_PRIMITIVE_QUADS] = NVIR_DOMAIN_QUADS,
      [TESS_PRIMITIVE_ISOLINES] = NVIR_DOMAIN_ISOLINES,
   };
   static const uint32_t spacings[] = {
      [TESS_SPACING_EQUAL] = NVIR_SPACING_EQUAL,
      [TESS_SPACING_FRACTIONAL_ODD] = NVIR_SPACING_FRACTIONAL_ODD,
      [TESS_SPACING_FRACTIONAL_EVEN] = NVIR_SPACING_FRACTIONAL_EVEN,
   };
   const struct shader_info *said = &nir->info;
   options->clip_distances = said->clip_distance_array_size;
   options->cull_distances = said->cull_distance_array_size;
   switch (said->stage) {
   case MESA_SHADER_TESS_CTRL:
   case MESA_SHADER_TESS_EVAL:
      options->tess_vertices_out = said->tess.tcs_vertices_out;
      options->tess_domain = domains[said->tess._primitive_mode];
      options->tess_spacing = spacings[said->tess.spacing];
      options->tess_counter_clockwise = said->tess.ccw;
      options->tess_points = said->tess.point_mode;
      break;
   case MESA_SHADER_GEOMETRY:
      options->geometry_input = said->gs.input_primitive;
      options->geometry_output = said->gs.output_primitive;
      options->geometry_vertices_out = said->gs.vertices_out;
      options->geometry_vertices_in = said->gs.vertices_in;
      options->geometry_invocations = said->gs.invocations;
      options->geometry_streams = said->gs.active_stream_mask;
      break;
   case MESA_SHADER_FRAGMENT:
      options->early_fragment_tests = said->fs.early_fragment_tests;
      options->post_depth_coverage = said->fs.post_depth_coverage;
      break;
   default:
      break;
   }
}

/* The four bits of a row in a map that begins with a row of its own. */
static unsigned
row_of(const uint32_t *map, unsigned row, unsigned first)
{
   unsigned bit = 4 * (row - first);
   return row < first ? 0 : map[bit / 32] >> bit % 32 & 15;
}

/* One more entry of a list, for a row of attributes; null where the driver has no more. */
static struct nv50_ir_varying *
entry(struct nv50_ir_varying *list, uint8_t *count, unsigned row, unsigned mask)
{
   if (*count == NV50_CODEGEN_MAX_VARYINGS)
      return NULL;
   struct nv50_ir_varying *v = &list[*count];
   for (int c = 0; c < 4; c++)
      v->slot[c] = 4 * row + c;
   v->mask = mask;
   v->id = (*count)++;
   return v;
}

/* nvir's name of what Mesa calls so. */
static int
semantic_of(unsigned name)
{
   switch (name) {
   case TGSI_SEMANTIC_POSITION:       return NVIR_SEMANTIC_POSITION;
   case TGSI_SEMANTIC_GENERIC:        return NVIR_SEMANTIC_GENERIC;
   case TGSI_SEMANTIC_TEXCOORD:       return NVIR_SEMANTIC_TEX_COORD;
   case TGSI_SEMANTIC_COLOR:          return NVIR_SEMANTIC_COLOR;
   case TGSI_SEMANTIC_BCOLOR:         return NVIR_SEMANTIC_BACK_COLOR;
   case TGSI_SEMANTIC_FOG:            return NVIR_SEMANTIC_FOG;
   case TGSI_SEMANTIC_PSIZE:          return NVIR_SEMANTIC_POINT_SIZE;
   case TGSI_SEMANTIC_CLIPVERTEX:     return NVIR_SEMANTIC_CLIP_VERTEX;
   case TGSI_SEMANTIC_CLIPDIST:       return NVIR_SEMANTIC_CLIP_DISTANCE;
   case TGSI_SEMANTIC_PRIMID:         return NVIR_SEMANTIC_PRIMITIVE_ID;
   case TGSI_SEMANTIC_LAYER:          return NVIR_SEMANTIC_LAYER;
   case TGSI_SEMANTIC_VIEWPORT_INDEX: return NVIR_SEMANTIC_VIEWPORT_INDEX;
   case TGSI_SEMANTIC_TESSOUTER:      return NVIR_SEMANTIC_TESS_OUTER;
   case TGSI_SEMANTIC_TESSINNER:      return NVIR_SEMANTIC_TESS_INNER;
   case TGSI_SEMANTIC_PATCH:          return NVIR_SEMANTIC_PATCH;
   default:                           return -1;
   }
}

/* Where an output of the program lies: false where it lies nowhere. */
static bool
find_output(const nvir_shader *shader, const nvir_stage_info *stage, unsigned name, unsigned index, nvir_slot *slot)
{
   int semantic = semantic_of(name);
   for (uint32_t n = 0; n < stage->outputs; n++) {
      if (nvir_shader_get_output(shader, n, slot) != NVIR_STATUS_OK)
         return false;
      if ((int)slot->semantic == semantic && slot->index == index)
         return slot->place == NVIR_PLACE_VERTEX || slot->place == NVIR_PLACE_PATCH;
   }
   return false;
}

/* An output register of the text, by its number, which is what transform feedback goes by. */
static void
place_output(const nvir_shader *shader, const nvir_stage_info *stage, unsigned number, unsigned name, unsigned index,
             uint8_t listed[ROWS], struct nv50_ir_prog_info_out *out)
{
   struct nv50_ir_varying *v = &out->out[number];
   nvir_slot slot;

   v->id = number;
   v->sn = name;
   v->si = index;
   if (!find_output(shader, stage, name, index, &slot))
      return;
   for (int c = 0; c < 4; c++)
      v->slot[c] = slot.address / 4 + c;
   v->patch = slot.place == NVIR_PLACE_PATCH;
   if (!v->patch) {
      /* Layer, viewport and point size share a row with others. */
      v->mask = row_of(stage->header + 13, slot.address / 16, 4) >> (slot.address / 4 & 3) & slot.mask;
      listed[slot.address / 16] |= v->mask << (slot.address / 4 & 3);
   }
}

/* Vec4s that a variable of an output takes: as nv50_ir counts them. */
static unsigned
slots_of(const nir_shader *nir, const nir_variable *var)
{
   const struct glsl_type *type = var->type;
   if (nir->info.stage == MESA_SHADER_TESS_CTRL && !var->data.patch && glsl_type_is_array(type))
      type = glsl_get_array_element(type);
   return glsl_count_attribute_slots(type, false);
}

static bool
registers(const struct nv50_ir_prog_info *info, const nvir_shader *shader, const nvir_stage_info *stage,
          uint8_t listed[ROWS], struct nv50_ir_prog_info_out *out)
{
   nir_shader *nir = nir_of(info);
#if MESA_RELEASE == 2203
   if (!nir) {
      struct tgsi_shader_info scan;
      tgsi_scan_shader(info->bin.source, &scan);
      for (unsigned n = 0; n < scan.num_outputs; n++)
         place_output(shader, stage, n, scan.output_semantic_name[n], scan.output_semantic_index[n], listed, out);
      out->numOutputs = scan.num_outputs;
      return true;
   }
#endif
   nir_foreach_shader_out_variable(var, nir) {
      unsigned name, index, first = var->data.driver_location, count = slots_of(nir, var);
      if (first + count > NV50_CODEGEN_MAX_VARYINGS)
         return false;
      tgsi_get_gl_varying_semantic(var->data.location, true, &name, &index);
      for (unsigned n = 0; n < count; n++)
         place_output(shader, stage, first + n, name, index + n, listed, out);
      if (first + count > out->numOutputs)
         out->numOutputs = first + count;
   }
   return true;
}

/* Marks that an output is read back: the driver declares the range from the lowest to the highest such word. */
static bool
read_back(struct nv50_ir_prog_info_out *out, unsigned word)
{
   for (unsigned n = 0; n < out->numOutputs; n++) {
      struct nv50_ir_varying *v = &out->out[n];
      if (v->patch || v->slot[0] != (word & ~3u))
         continue;
      v->mask |= 1 << (word & 3);
      v->oread = 1;
      return true;
   }
   struct nv50_ir_varying *v = entry(out->out, &out->numOutputs, word / 4, 1 << (word & 3));
   if (v)
      v->oread = 1;
   return v != NULL;
}

/* Stages that make vertices: words 5 to 12 are what they read, 13 to 19 from row 4 on what they write. */
static bool
vertices(const struct nv50_ir_prog_info *info, const nvir_shader *shader, const nvir_stage_info *stage,
         struct nv50_ir_prog_info_out *out)
{
   const uint32_t *header = stage->header;
   uint8_t listed[ROWS] = { 0 };

   for (unsigned row = 0; row < ROWS; row++) {
      unsigned mask = row_of(header + 5, row, 0);
      if (mask && !entry(out->in, &out->numInputs, row, mask))
         return false;
   }
   if (!registers(info, shader, stage, listed, out))
      return false;
   for (unsigned row = 4; row < ROWS - 4; row++) {
      unsigned mask = row_of(header + 13, row, 4) & ~listed[row];
      /* The evaluation shader's coordinates lie there: the driver declares them by itself. */
      if (row == 0x2f && info->type == PIPE_SHADER_TESS_EVAL)
         continue;
      if (mask && !entry(out->out, &out->numOutputs, row, mask))
         return false;
   }
   unsigned lowest = header[4] >> 12 & 0xff, highest = header[4] >> 24;
   if (info->type == PIPE_SHADER_TESS_EVAL) {
      if (lowest <= highest)
         out->sv[out->numSysVals++].sn = SYSTEM_VALUE_OF_TESS_COORD;
   } else if (info->type != PIPE_SHADER_GEOMETRY && lowest <= highest) {
      if (!read_back(out, lowest) || !read_back(out, highest))
         return false;
   }

   out->io.clipDistances = util_bitcount(stage->clip_enable);
   out->io.cullDistances = util_bitcount(stage->cull_enable);
   if (!stage->takes_clip_planes)
      out->io.genUserClip = -1;
   return true;
}

static void
tessellation(const nvir_stage_info *stage, struct nv50_ir_prog_info_out *out)
{
   static const uint8_t domains[] = { MESA_PRIM_COUNT, MESA_PRIM_TRIANGLES, MESA_PRIM_QUADS, MESA_PRIM_LINES };
   static const uint8_t spacings[] = { PIPE_TESS_SPACING_EQUAL, PIPE_TESS_SPACING_EQUAL,
                                       PIPE_TESS_SPACING_FRACTIONAL_ODD, PIPE_TESS_SPACING_FRACTIONAL_EVEN };
   uint32_t words = stage->header[1] >> 24;

   out->prop.tp.domain = domains[stage->tess_domain];
   out->prop.tp.outputPrim = stage->tess_domain == NVIR_DOMAIN_UNKNOWN ? MESA_PRIM_COUNT
                             : stage->tess_points                      ? MESA_PRIM_POINTS
                                                                       : MESA_PRIM_TRIANGLES;
   out->prop.tp.partitioning = spacings[stage->tess_spacing];
   out->prop.tp.winding = stage->tess_clockwise;
   if (out->type == PIPE_SHADER_TESS_CTRL) {
      out->prop.tp.outputPatchSize = stage->header[2] >> 24;
      out->numPatchConstants = words > 8 ? (words - 8) / 4 : 0;
   }
}

static void
geometry(const nvir_stage_info *stage, struct nv50_ir_prog_info_out *out)
{
   switch (stage->header[3] >> 24) {
   case 1:
      out->prop.gp.outputPrim = MESA_PRIM_POINTS;
      break;
   case 6:
      out->prop.gp.outputPrim = MESA_PRIM_LINE_STRIP;
      break;
   default:
      out->prop.gp.outputPrim = MESA_PRIM_TRIANGLE_STRIP;
      break;
   }
   out->prop.gp.instanceCount = stage->header[2] >> 24;
   out->prop.gp.maxVertices = stage->header[4] & 0xfff;
}

/* The header's two bits about a word that a fragment shader reads, for the rows that have them. */
static unsigned
interpolation(const uint32_t *header, unsigned word)
{
   unsigned bit = 2 * word - (word >= 0x300 / 4 ? 32 : 0);
   return header[4 + bit / 32] >> bit % 32 & 3;
}

static bool
fragment_inputs(const nvir_stage_info *stage, struct nv50_ir_prog_info_out *out)
{
   enum { FLAT = 1, LINEAR = 3 };
   const uint32_t *header = stage->header;

   for (unsigned row = 0; row < ROWS; row++) {
      unsigned masks[4] = { 0 };
      if (row == 6 || row == 7) {
         masks[0] = header[5] >> (24 + 4 * (row - 6)) & 15;
      } else if (row >= 0x2c && row <= 0x2e) {
         masks[0] = header[14] >> (16 + 4 * (row - 0x2c)) & 15;
      } else if ((row >= 0x08 && row < 0x2a) || (row >= 0x30 && row < 0x3a)) {
         for (unsigned c = 0; c < 4; c++)
            masks[interpolation(header, 4 * row + c)] |= 1 << c;
         masks[0] = 0;
      }
      bool color = row == 0x28 || row == 0x29;
      uint32_t default_color = color ? stage->colors[row - 0x28] : 0;
      if (default_color) {
         masks[1] = masks[2] = masks[3] = 0;
         masks[default_color & 3] = default_color >> 4;
      }
      for (unsigned kind = 0; kind < 4; kind++) {
         if (!masks[kind])
            continue;
         struct nv50_ir_varying *v = entry(out->in, &out->numInputs, row, masks[kind]);
         if (!v)
            return false;
         v->flat = kind == FLAT;
         v->linear = kind == LINEAR;
         v->sc = default_color != 0;
         v->sn = color ? TGSI_SEMANTIC_COLOR : TGSI_SEMANTIC_GENERIC;
         v->si = color ? row - 0x28 : 0;
      }
   }
   return true;
}

static bool
fragment(const nvir_stage_info *stage, struct nv50_ir_prog_info_out *out)
{
   const uint32_t *header = stage->header;
   bool depth = header[19] & 2;

   if (!fragment_inputs(stage, out))
      return false;
   for (unsigned n = 0; n < 8; n++) {
      if (!(header[18] >> 4 * n & 15))
         continue;
      struct nv50_ir_varying *v = &out->out[out->numOutputs++];
      v->sn = TGSI_SEMANTIC_COLOR;
      v->si = n;
      v->mask = 15;
      out->prop.fp.numColourResults++;
   }
   if (header[19] & 1) {
      out->io.sampleMask = out->numOutputs;
      out->out[out->numOutputs++].sn = TGSI_SEMANTIC_SAMPLEMASK;
   }
   if (depth) {
      out->io.fragDepth = out->numOutputs;
      out->out[out->numOutputs++].sn = TGSI_SEMANTIC_POSITION;
   }
   out->prop.fp.writesDepth = depth;
   out->prop.fp.usesDiscard = header[0] >> 15 & 1;
   out->prop.fp.separateFragData = !(header[0] >> 14 & 1);
   out->prop.fp.earlyFragTests = stage->early_tests;
   out->prop.fp.postDepthCoverage = stage->post_depth_coverage;
   out->prop.fp.usesSampleMaskIn = stage->reads_sample_mask;
   out->prop.fp.readsFramebuffer = stage->reads_framebuffer;
   return true;
}

bool
stage_describe(const struct nv50_ir_prog_info *info, const nvir_shader *shader, struct nv50_ir_prog_info_out *out)
{
   nvir_stage_info stage = { .size = sizeof(stage) };
   if (nvir_shader_get_stage(shader, &stage) != NVIR_STATUS_OK)
      return false;

   out->io.fp64 = stage.header[0] >> 27 & 1;
   out->io.globalAccess = (stage.header[0] >> 16 & 1) << 1 | (stage.header[0] >> 26 & 1);
   switch (info->type) {
   case PIPE_SHADER_VERTEX:
      out->io.vertexId = stage.needs_vertex_id ? 0 : 0xff;
      out->io.edgeFlagIn = stage.edge_flag < 0xff ? stage.edge_flag : 0xff;
      out->prop.vp.usesDrawParameters = stage.needs_draw_parameters;
      return vertices(info, shader, &stage, out);
   case PIPE_SHADER_TESS_CTRL:
   case PIPE_SHADER_TESS_EVAL:
      tessellation(&stage, out);
      return vertices(info, shader, &stage, out);
   case PIPE_SHADER_GEOMETRY:
      geometry(&stage, out);
      return vertices(info, shader, &stage, out);
   case PIPE_SHADER_FRAGMENT:
      return fragment(&stage, out);
   default:
      return false;
   }
}
