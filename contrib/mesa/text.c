/* A program as text, for nvir to read.
 *
 * It is what Mesa's nir_print_shader and tgsi_dump write. The first spends most of its time with formats, on comments that nobody
 * reads, and on properties that nvir does not ask for: so NIR is written here. Rare instructions go through Mesa's printer all the same,
 * and programs with what the state tracker lowers. The form is that of Mesa's later versions, which is the shorter one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "tgsi/tgsi_dump.h"
#include "util/format/u_format.h"
#include "util/set.h"

#include "mesa.h"
#include "text.h"

/* ---- Memory that grows ---- */

struct text {
   char *bytes; /* from malloc */
   size_t length, room;
   bool failed; /* there was no memory */
   FILE *rare;  /* for what Mesa prints: opened when first needed */
   char *rare_bytes;
   size_t rare_length;
};

/* A stream into memory; null where there is none. */
static FILE *
open_memory(char **bytes, size_t *length)
{
   FILE *stream = open_memstream(bytes, length);
   if (stream)
      __fsetlocking(stream, FSETLOCKING_BYCALLER); /* nobody else has it */
   return stream;
}

/* Makes room for `count` more characters; false where there is no memory. */
static bool
grow(struct text *t, size_t count)
{
   size_t room = 2 * t->room + count + 4096;
   char *bytes = t->failed ? NULL : realloc(t->bytes, room);
   if (!bytes) {
      t->failed = true;
      return false;
   }
   t->bytes = bytes;
   t->room = room;
   return true;
}

static inline void
put_bytes(struct text *t, const char *bytes, size_t count)
{
   if (t->length + count <= t->room || grow(t, count)) {
      memcpy(t->bytes + t->length, bytes, count);
      t->length += count;
   }
}

static inline void
put(struct text *t, const char *string)
{
   put_bytes(t, string, strlen(string));
}

static inline void
put_char(struct text *t, char c)
{
   put_bytes(t, &c, 1);
}

/* The digits of a number at the end of 20 characters, and how many they are. */
static inline unsigned
digits_of(uint64_t n, char *end)
{
   char *digit = end;
   do
      *--digit = '0' + n % 10;
   while (n /= 10);
   return end - digit;
}

static void
put_number(struct text *t, uint64_t n)
{
   char digits[20], *end = digits + sizeof(digits);
   unsigned count = digits_of(n, end);
   put_bytes(t, end - count, count);
}

static void
put_signed(struct text *t, int64_t n)
{
   if (n < 0)
      put_char(t, '-');
   put_number(t, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

static void
put_hex(struct text *t, uint64_t n)
{
   unsigned digits = 1;
   while (digits < 16 && n >> 4 * digits)
      digits++;
   put(t, "0x");
   while (digits--)
      put_char(t, "0123456789abcdef"[n >> 4 * digits & 0xf]);
}

/* ---- Bodies of functions ---- */

static const char *
component_names(unsigned components)
{
   return components > 4 ? "abcdefghijklmnop" : "xyzw";
}

static void
put_ssa(struct text *t, const nir_def *def)
{
   put_char(t, '%');
   put_number(t, def->index);
}

static void
put_def(struct text *t, const nir_def *def)
{
   put_number(t, def->bit_size);
   if (def->num_components > 1) {
      put_char(t, 'x');
      put_number(t, def->num_components);
   }
   put_char(t, ' ');
   put_ssa(t, def);
}

static void
put_src(struct text *t, const nir_src *src)
{
   put_ssa(t, src->ssa);
}

static void
put_components(struct text *t, unsigned mask, unsigned of)
{
   for (unsigned c = 0; c < of; c++) {
      if (mask >> c & 1)
         put_char(t, component_names(of)[c]);
   }
}

static void
put_alu_src(struct text *t, const nir_alu_instr *alu, unsigned n)
{
   const nir_alu_src *src = &alu->src[n];
   unsigned size = nir_op_infos[alu->op].input_sizes[n];
   unsigned read = size ? size : ALU_RESULT(alu)->num_components;
   unsigned components = src->src.ssa->num_components;
   bool whole = read == components;

   put_src(t, &src->src);
   for (unsigned c = 0; whole && c < components; c++)
      whole = src->swizzle[c] == c;
   if (whole)
      return;
   put_char(t, '.');
   for (unsigned c = 0; c < read; c++)
      put_char(t, component_names(components)[src->swizzle[c]]);
}

static bool
put_alu(struct text *t, const nir_alu_instr *alu)
{
   if (has_modifiers(alu))
      return false;
   put_def(t, ALU_RESULT(alu));
   put(t, " = ");
   put(t, nir_op_infos[alu->op].name);
   put(t, alu->exact ? "!" : "");
   put(t, alu->no_signed_wrap ? ".nsw" : "");
   put(t, alu->no_unsigned_wrap ? ".nuw" : "");
   for (unsigned n = 0; n < nir_op_infos[alu->op].num_inputs; n++) {
      put(t, n ? ", " : " ");
      put_alu_src(t, alu, n);
   }
   return true;
}

static void
put_load_const(struct text *t, const nir_load_const_instr *load)
{
   unsigned bits = load->def.bit_size;
   put_def(t, &load->def);
   put(t, " = load_const (");
   for (unsigned c = 0; c < load->def.num_components; c++) {
      put(t, c ? ", " : "");
      if (bits == 1)
         put(t, load->value[c].b ? "true" : "false");
      else
         put_hex(t, nir_const_value_as_uint(load->value[c], bits));
   }
   put_char(t, ')');
}

/* The name of a single mode; null for the rare ones. */
static const char *
mode_name(nir_variable_mode mode)
{
   switch (mode) {
   case nir_var_shader_in:
      return "shader_in";
   case nir_var_shader_out:
      return "shader_out";
   case nir_var_uniform:
      return "uniform";
   case nir_var_mem_ubo:
      return "ubo";
   case nir_var_mem_ssbo:
      return "ssbo";
   case nir_var_mem_shared:
      return "shared";
   case nir_var_image:
      return "image";
   case nir_var_shader_temp:
      return "shader_temp";
   case nir_var_function_temp:
      return "function_temp";
   default:
      return NULL;
   }
}

/* References to variables and to elements of arrays; false for others. */
static bool
put_deref(struct text *t, const nir_deref_instr *deref)
{
   const char *mode = mode_name(deref->modes);
   bool var = deref->deref_type == nir_deref_type_var;
   if (!mode || !(var || deref->deref_type == nir_deref_type_array))
      return false;
   put_def(t, RESULT(deref));
   put(t, var ? " = deref_var &" : " = deref_array &(*");
   if (var) {
      put(t, deref->var->name);
   } else {
      put_src(t, &deref->parent);
      put(t, ")[");
      if (nir_src_is_const(deref->arr.index))
         put_signed(t, nir_src_as_int(deref->arr.index));
      else
         put_src(t, &deref->arr.index);
      put_char(t, ']');
   }
   put(t, " (");
   put(t, mode);
   put_char(t, ' ');
   put(t, glsl_get_type_name(deref->type));
   put_char(t, ')');
   return true;
}

/* A type of values, such as `float32`. */
static void
put_alu_type(struct text *t, nir_alu_type type)
{
   switch (nir_alu_type_get_base_type(type)) {
   case nir_type_int:
      put(t, "int");
      break;
   case nir_type_uint:
      put(t, "uint");
      break;
   case nir_type_bool:
      put(t, "bool");
      break;
   case nir_type_float:
      put(t, "float");
      break;
   default:
      put(t, "invalid");
   }
   if (nir_alu_type_get_type_size(type))
      put_number(t, nir_alu_type_get_type_size(type));
}

static int
index_value(const nir_intrinsic_instr *intrinsic, unsigned index)
{
   return intrinsic->const_index[nir_intrinsic_infos[intrinsic->intrinsic].index_map[index] - 1];
}

/* Whether nvir reads an index, and takes it for something else where it is not said. */
static bool
says_something(const nir_intrinsic_instr *intrinsic, unsigned index)
{
   switch (index) {
   case NIR_INTRINSIC_RANGE_BASE:
      return false;
   case NIR_INTRINSIC_BASE:
   case NIR_INTRINSIC_COMPONENT:
   case NIR_INTRINSIC_ACCESS:
   case NIR_INTRINSIC_ALIGN_OFFSET:
   case NIR_INTRINSIC_STREAM_ID:
      return index_value(intrinsic, index) != 0;
   default:
      return true;
   }
}

/* An index that says `name=number`, a mask or a type; false for what Mesa prints in other ways. */
static bool
put_index(struct text *t, const nir_intrinsic_instr *intrinsic, unsigned index)
{
   static const bool numbers[NIR_INTRINSIC_NUM_INDEX_FLAGS] = {
      [NIR_INTRINSIC_BASE] = true,         [NIR_INTRINSIC_RANGE] = true,     [NIR_INTRINSIC_COMPONENT] = true,
      [NIR_INTRINSIC_ACCESS] = true,       [NIR_INTRINSIC_ALIGN_MUL] = true, [NIR_INTRINSIC_ALIGN_OFFSET] = true,
      [NIR_INTRINSIC_STREAM_ID] = true,    [NIR_INTRINSIC_INTERP_MODE] = true,
   };
   int value = index_value(intrinsic, index);
   bool type = index == NIR_INTRINSIC_SRC_TYPE || index == NIR_INTRINSIC_DEST_TYPE;

   if (!numbers[index] && !type && index != NIR_INTRINSIC_WRITE_MASK)
      return false;
   put(t, nir_intrinsic_index_names[index]);
   put_char(t, '=');
   if (type)
      put_alu_type(t, value);
   else if (index == NIR_INTRINSIC_WRITE_MASK)
      put_components(t, value, intrinsic->num_components);
   else
      put_signed(t, value);
   return true;
}

static bool
put_intrinsic(struct text *t, const nir_intrinsic_instr *intrinsic)
{
   const nir_intrinsic_info *info = &nir_intrinsic_infos[intrinsic->intrinsic];
   if (info->has_dest) {
      put_def(t, RESULT(intrinsic));
      put(t, " = ");
   }
   put_char(t, '@');
   put(t, info->name);
   put(t, " (");
   for (unsigned n = 0; n < info->num_srcs; n++) {
      put(t, n ? ", " : "");
      put_src(t, &intrinsic->src[n]);
   }
   put_char(t, ')');
   const char *before = " (";
   for (unsigned n = 0; n < info->num_indices; n++) {
      if (!says_something(intrinsic, info->indices[n]))
         continue;
      put(t, before);
      before = ", ";
      if (!put_index(t, intrinsic, info->indices[n]))
         return false;
   }
   if (*before == ',')
      put_char(t, ')');
   return true;
}

static void
put_phi(struct text *t, nir_phi_instr *phi)
{
   const char *between = " = phi ";
   put_def(t, RESULT(phi));
   nir_foreach_phi_src(src, phi) {
      put(t, between);
      put_char(t, 'b');
      put_number(t, src->pred->index);
      put(t, ": ");
      put_src(t, &src->src);
      between = ", ";
   }
}

/* The rare ones: as Mesa prints them. */
static void
put_rare(struct text *t, const nir_instr *instr)
{
   if (!t->rare) {
      t->rare = open_memory(&t->rare_bytes, &t->rare_length);
      if (!t->rare) {
         t->failed = true;
         return;
      }
   }
   rewind(t->rare);
   nir_print_instr(instr, t->rare);
   if (fflush(t->rare) == 0)
      put_bytes(t, t->rare_bytes, t->rare_length);
   else
      t->failed = true;
}

static void
put_instruction(struct text *t, nir_instr *instr)
{
   size_t start = t->length;
   bool done = true;
   switch (instr->type) {
   case nir_instr_type_alu:
      done = put_alu(t, nir_instr_as_alu(instr));
      break;
   case nir_instr_type_load_const:
      put_load_const(t, nir_instr_as_load_const(instr));
      break;
   case nir_instr_type_deref:
      done = put_deref(t, nir_instr_as_deref(instr));
      break;
   case nir_instr_type_intrinsic:
      done = put_intrinsic(t, nir_instr_as_intrinsic(instr));
      break;
   case nir_instr_type_phi:
      put_phi(t, nir_instr_as_phi(instr));
      break;
   case nir_instr_type_undef:
      put_def(t, &nir_instr_as_undef(instr)->def);
      put(t, " = undefined");
      break;
   default:
      done = false;
   }
   if (!done) {
      t->length = start;
      put_rare(t, instr);
   }
   put_char(t, '\n');
}

static void
put_nodes(struct text *t, struct exec_list *list)
{
   foreach_list_typed(nir_cf_node, node, node, list) {
      if (node->type == nir_cf_node_block) {
         nir_block *block = nir_cf_node_as_block(node);
         put(t, "block b");
         put_number(t, block->index);
         put(t, ":\n");
         nir_foreach_instr(instr, block)
            put_instruction(t, instr);
      } else if (node->type == nir_cf_node_if) {
         nir_if *branch = nir_cf_node_as_if(node);
         put(t, "if ");
         put_src(t, &branch->condition);
         put(t, " {\n");
         put_nodes(t, &branch->then_list);
         put(t, "} else {\n");
         put_nodes(t, &branch->else_list);
         put(t, "}\n");
      } else {
         put(t, "loop {\n");
         put_nodes(t, &nir_cf_node_as_loop(node)->body);
         put(t, "}\n");
      }
   }
}

/* ---- The program around them ---- */

/* The variables of all functions. */
#define foreach_local(var, nir)                                                                                        \
   nir_foreach_function(function, nir)                                                                                 \
      if (function->impl)                                                                                              \
         nir_foreach_function_temp_variable(var, function->impl)

static void
put_key(struct text *t, const char *key)
{
   put(t, key);
   put(t, ": ");
}

/* `key: number`, where it is not 0. */
static void
put_property(struct text *t, const char *key, unsigned number)
{
   if (!number)
      return;
   put_key(t, key);
   put_number(t, number);
   put_char(t, '\n');
}

static void
put_word(struct text *t, const char *key, const char *word)
{
   put_key(t, key);
   put(t, word);
   put_char(t, '\n');
}

static const char *
primitive_name(unsigned primitive)
{
   switch (primitive) {
   case MESA_PRIM_POINTS:
      return "POINTS";
   case MESA_PRIM_LINES:
      return "LINES";
   case MESA_PRIM_LINE_STRIP:
      return "LINE_STRIP";
   case MESA_PRIM_TRIANGLES:
      return "TRIANGLES";
   case MESA_PRIM_TRIANGLE_STRIP:
      return "TRIANGLE_STRIP";
   default:
      return "UNKNOWN";
   }
}

/* The properties that nvir reads, in the form of later versions. */
static void
put_properties(struct text *t, const nir_shader *nir)
{
   const struct shader_info *info = &nir->info;
   put_word(t, "shader", gl_shader_stage_name(info->stage));
   if (gl_shader_stage_uses_workgroup(info->stage)) {
      for (unsigned n = 0; n < 3; n++) {
         put(t, n ? ", " : "workgroup_size: ");
         put_number(t, info->workgroup_size[n]);
      }
      put(t, info->workgroup_size_variable ? " (variable)\n" : "\n");
   }
   put_property(t, "shared_size", info->shared_size);
   put_property(t, "scratch_size", nir->scratch_size);
   put_property(t, "constant_data_size", nir->constant_data_size);
   put_property(t, "first_ubo_is_default_ubo", info->first_ubo_is_default_ubo);
   put_property(t, "clip_distance_array_size", info->clip_distance_array_size);
   put_property(t, "cull_distance_array_size", info->cull_distance_array_size);
   switch (info->stage) {
   case MESA_SHADER_TESS_CTRL:
   case MESA_SHADER_TESS_EVAL:
      put_property(t, "primitive_mode", info->tess._primitive_mode);
      put_property(t, "tcs_vertices_out", info->tess.tcs_vertices_out);
      put_property(t, "spacing", info->tess.spacing);
      put_property(t, "ccw", info->tess.ccw);
      put_property(t, "point_mode", info->tess.point_mode);
      break;
   case MESA_SHADER_GEOMETRY:
      put_word(t, "input_primitive", primitive_name(info->gs.input_primitive));
      put_word(t, "output_primitive", primitive_name(info->gs.output_primitive));
      put_property(t, "vertices_in", info->gs.vertices_in);
      put_property(t, "vertices_out", info->gs.vertices_out);
      put_property(t, "invocations", info->gs.invocations);
      put_property(t, "active_stream_mask", info->gs.active_stream_mask);
      break;
   case MESA_SHADER_FRAGMENT:
      put_property(t, "early_fragment_tests", info->fs.early_fragment_tests);
      put_property(t, "post_depth_coverage", info->fs.post_depth_coverage);
      break;
   default:
      break;
   }
}

static void
put_flag(struct text *t, bool flag, const char *word)
{
   if (flag)
      put(t, word);
}

/* The name of a place for inputs or outputs; null for other variables. */
static const char *
location_name(const nir_variable *var, gl_shader_stage stage)
{
   switch (var->data.mode) {
   case nir_var_shader_in:
      if (stage == MESA_SHADER_VERTEX)
         return gl_vert_attrib_name(var->data.location);
      return gl_varying_slot_name_for_stage(var->data.location, stage);
   case nir_var_shader_out:
      if (stage == MESA_SHADER_FRAGMENT)
         return gl_frag_result_name(var->data.location);
      return gl_varying_slot_name_for_stage(var->data.location, stage);
   default:
      return NULL;
   }
}

/* The text does not say which of two colours that are blended is the second: for nvir it is the one with the later register. */
#define BEHIND_ALL_RESULTS 64
static bool
is_second_color(const nir_variable *var, gl_shader_stage stage)
{
   return stage == MESA_SHADER_FRAGMENT && var->data.mode == nir_var_shader_out && var->data.index;
}

/* Where a variable lies: location and first component, place, binding. */
static void
put_location(struct text *t, const nir_variable *var, gl_shader_stage stage)
{
   const char *location = location_name(var, stage);
   unsigned components = glsl_get_components(glsl_without_array(var->type));

   put(t, " (");
   if (location && var->data.patch && var->data.location >= VARYING_SLOT_PATCH0) {
      put(t, "VARYING_SLOT_PATCH"); /* 22.3 has no names for them */
      put_number(t, var->data.location - VARYING_SLOT_PATCH0);
   } else if (location) {
      put(t, location);
   } else if (var->data.location < 0) {
      put(t, "~0");
   } else {
      put_number(t, var->data.location);
   }
   if (location && components && components < 16) {
      put_char(t, '.');
      for (unsigned c = 0; c < components; c++)
         put_char(t, component_names(components)[c + var->data.location_frac]);
   }
   put(t, ", ");
   put_number(t, var->data.driver_location + (is_second_color(var, stage) ? BEHIND_ALL_RESULTS : 0));
   put(t, ", ");
   put_number(t, var->data.binding);
   put(t, var->data.compact ? ") compact" : ")");
}

/* What variables are declared as, of the modes that mode_name knows; functions' and private ones have no word for it. */
static void
put_variable(struct text *t, const nir_variable *var, gl_shader_stage stage)
{
   const nir_variable_mode temporary = nir_var_shader_temp | nir_var_function_temp;
   unsigned access = var->data.access;

   put(t, "decl_var ");
   put_flag(t, var->data.bindless, "bindless ");
   put_flag(t, var->data.centroid, "centroid ");
   put_flag(t, var->data.sample, "sample ");
   put_flag(t, var->data.patch, "patch ");
   put_flag(t, var->data.invariant, "invariant ");
   if (!(var->data.mode & temporary)) {
      put(t, mode_name(var->data.mode));
      put_char(t, ' ');
   }
   put(t, glsl_interp_mode_name(var->data.interpolation));
   put_char(t, ' ');
   put_flag(t, access & ACCESS_COHERENT, "coherent ");
   put_flag(t, access & ACCESS_VOLATILE, "volatile ");
   put_flag(t, access & ACCESS_RESTRICT, "restrict ");
   put_flag(t, access & ACCESS_NON_WRITEABLE, "readonly ");
   put_flag(t, access & ACCESS_NON_READABLE, "writeonly ");
   put_flag(t, access & ACCESS_CAN_REORDER, "reorderable ");
   if (glsl_type_is_image(glsl_without_array(var->type))) {
      put(t, util_format_short_name(var->data.image.format));
      put_char(t, ' ');
   }
   put(t, glsl_get_type_name(var->type));
   put_char(t, ' ');
   put(t, var->name);
   if (!(var->data.mode & (temporary | nir_var_mem_shared)))
      put_location(t, var, stage);
   put_char(t, '\n');
}

/* A structure's fields, those of the structures in it first, unless `done` has it. Mesa prints types by their names only, later versions
 * print structures in front of the functions. */
static void
put_structure(struct text *t, const struct glsl_type *type, struct set **done)
{
   type = glsl_without_array(type);
   if (!glsl_type_is_struct_or_ifc(type))
      return;
   if (!*done)
      *done = _mesa_pointer_set_create(NULL);
   if (_mesa_set_search(*done, type))
      return;
   _mesa_set_add(*done, type);
   for (unsigned n = 0; n < glsl_get_length(type); n++)
      put_structure(t, glsl_get_struct_field(type, n), done);
   put(t, "struct ");
   put(t, glsl_get_type_name(type));
   put(t, " {\n");
   for (unsigned n = 0; n < glsl_get_length(type); n++) {
      put(t, "   ");
      put(t, glsl_get_type_name(glsl_get_struct_field(type, n)));
      put_char(t, ' ');
      put(t, glsl_get_struct_elem_name(type, n));
      put(t, ";\n");
   }
   put(t, "}\n");
}

static void
put_function(struct text *t, nir_function *function, gl_shader_stage stage)
{
   nir_function_impl *impl = function->impl;
   put(t, "decl_function ");
   put(t, function->name);
   put(t, " (");
   put_number(t, function->num_params);
   put(t, " params)\n");
   if (!impl)
      return;
   put(t, "impl ");
   put(t, function->name);
   put(t, " {\n");
   nir_foreach_function_temp_variable(var, impl)
      put_variable(t, var, stage);
   nir_index_blocks(impl);
   put_nodes(t, &impl->body);
   put(t, "block b");
   put_number(t, impl->end_block->index);
   put(t, ":\n}\n");
}

/* What takes Mesa less time to do than to print, and nvir than to read: the state tracker leaves the addresses of what it lowered,
 * unused references, and copies. */
static void
tidy(nir_shader *nir)
{
   nir_copy_prop(nir);
   nir_opt_constant_folding(nir);
   nir_opt_dce(nir);
}

/* `v` and a number. */
static void
number_variable(nir_variable *var, unsigned number)
{
   char digits[20], *end = digits + sizeof(digits);
   unsigned count = digits_of(number, end);
   char *name = ralloc_size(var, count + 2);

   name[0] = 'v';
   memcpy(name + 1, end - count, count);
   name[count + 1] = 0;
   var->name = name;
}

/* Gives the variables names that no other one of the program has: v0, v1 and so on. Names that users gave say nothing of the program:
 * equal programs are equal texts. */
static void
number_variables(nir_shader *nir)
{
   unsigned count = 0;
   nir_foreach_variable_in_shader(var, nir)
      number_variable(var, count++);
   foreach_local(var, nir)
      number_variable(var, count++);
}

/* Uniforms get their values from outside. */
static bool
plain_variable(const nir_variable *var)
{
   bool initial = (var->constant_initializer || var->pointer_initializer) && var->data.mode != nir_var_uniform;
   return !initial && mode_name(var->data.mode);
}

/* Whether there is nothing but what is written here. Registers, which the state tracker does not make, and initial values, which it
 * lowers, are left to Mesa's printer, with all of the program around them. */
static bool
is_plain(nir_shader *nir)
{
   nir_foreach_variable_in_shader(var, nir) {
      if (!plain_variable(var))
         return false;
   }
   foreach_local(var, nir) {
      if (!plain_variable(var))
         return false;
   }
   nir_foreach_function(function, nir) {
      if (function->impl && has_registers(function->impl))
         return false;
   }
   return true;
}

/* All of a program as Mesa prints it. */
static void
put_all(struct text *t, nir_shader *nir)
{
   FILE *stream = open_memory(&t->bytes, &t->length);
   if (!stream) {
      t->failed = true;
      return;
   }
   nir->info.name = NULL;
   memset(HASH_OF_SOURCE(&nir->info), 0, sizeof(HASH_OF_SOURCE(&nir->info)));
   nir_foreach_variable_in_shader(var, nir)
      var->data.driver_location += is_second_color(var, nir->info.stage) ? BEHIND_ALL_RESULTS : 0;
   nir_print_shader(nir, stream);
   nir_foreach_variable_in_shader(var, nir)
      var->data.driver_location -= is_second_color(var, nir->info.stage) ? BEHIND_ALL_RESULTS : 0;
   t->failed = fclose(stream) != 0;
   t->room = t->length;
}

static char *
text_of_nir(nir_shader *nir, size_t *length)
{
   struct text t = { 0 };
   struct set *done = NULL;

   tidy(nir);
   number_variables(nir);
   bool plain = is_plain(nir);
   if (plain) {
      put_properties(&t, nir);
      nir_foreach_variable_in_shader(var, nir)
         put_variable(&t, var, nir->info.stage);
   } else {
      put_all(&t, nir);
   }
   nir_foreach_variable_in_shader(var, nir)
      put_structure(&t, var->type, &done);
   foreach_local(var, nir)
      put_structure(&t, var->type, &done);
   if (done)
      _mesa_set_destroy(done, NULL);
   if (plain) {
      nir_foreach_function(function, nir)
         put_function(&t, function, nir->info.stage);
   }
   if (t.rare)
      fclose(t.rare);
   free(t.rare_bytes);
   if (t.failed) {
      free(t.bytes);
      return NULL;
   }
   *length = t.length;
   return t.bytes;
}

#if MESA_RELEASE == 2203
static char *
text_of_tgsi(const struct tgsi_token *tokens, size_t *length)
{
   char *text = NULL;
   FILE *stream = open_memory(&text, length);
   if (!stream)
      return NULL;
   tgsi_dump_to_file(tokens, TGSI_DUMP_FLOAT_AS_HEX, stream);
   if (fclose(stream) != 0) {
      free(text);
      return NULL;
   }
   return text;
}
#endif

char *
text_of(const struct nv50_ir_prog_info *info, size_t *length)
{
#if MESA_RELEASE == 2203
   if (!nir_of(info))
      return text_of_tgsi(info->bin.source, length);
#endif
   return text_of_nir(nir_of(info), length);
}
