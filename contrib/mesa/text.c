/* A program as text, for nvir to read.
 *
 * It is what Mesa's nir_print_shader and tgsi_dump write. The first spends most of its time with formats, and on comments that nobody
 * reads: so bodies of functions are written here. Declarations and rare instructions go through Mesa's printer all the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "tgsi/tgsi_dump.h"
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

/* Where the next `count` characters go; null where there is no memory. */
static char *
room_for(struct text *t, size_t count)
{
   if (t->length + count > t->room) {
      size_t room = 2 * t->room + count + 1024;
      char *bytes = t->failed ? NULL : realloc(t->bytes, room);
      if (!bytes) {
         t->failed = true;
         return NULL;
      }
      t->bytes = bytes;
      t->room = room;
   }
   t->length += count;
   return t->bytes + t->length - count;
}

static void
put_bytes(struct text *t, const char *bytes, size_t count)
{
   char *to = room_for(t, count);
   if (to)
      memcpy(to, bytes, count);
}

static void
put(struct text *t, const char *string)
{
   put_bytes(t, string, strlen(string));
}

static void
put_char(struct text *t, char c)
{
   put_bytes(t, &c, 1);
}

static void
put_number(struct text *t, uint64_t n)
{
   char digits[20];
   unsigned at = sizeof(digits);
   do
      digits[--at] = '0' + n % 10;
   while (n /= 10);
   put_bytes(t, digits + at, sizeof(digits) - at);
}

static void
put_signed(struct text *t, int64_t n)
{
   if (n < 0)
      put_char(t, '-');
   put_number(t, n < 0 ? -(uint64_t)n : (uint64_t)n);
}

static void
put_hex(struct text *t, uint64_t n, unsigned digits)
{
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
   put(t, "ssa_");
   put_number(t, def->index);
}

static void
put_def(struct text *t, const nir_def *def)
{
   put(t, "vec");
   put_number(t, def->num_components);
   put_char(t, ' ');
   put_number(t, def->bit_size);
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
         put_hex(t, nir_const_value_as_uint(load->value[c], bits), bits / 4);
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

/* An index that says `name=number`, a mask or a type; false for what Mesa prints in other ways. */
static bool
put_index(struct text *t, const nir_intrinsic_instr *intrinsic, unsigned index)
{
   static const bool numbers[NIR_INTRINSIC_NUM_INDEX_FLAGS] = {
      [NIR_INTRINSIC_BASE] = true,         [NIR_INTRINSIC_RANGE] = true,     [NIR_INTRINSIC_RANGE_BASE] = true,
      [NIR_INTRINSIC_COMPONENT] = true,    [NIR_INTRINSIC_ACCESS] = true,    [NIR_INTRINSIC_ALIGN_MUL] = true,
      [NIR_INTRINSIC_ALIGN_OFFSET] = true, [NIR_INTRINSIC_STREAM_ID] = true, [NIR_INTRINSIC_INTERP_MODE] = true,
   };
   int value = intrinsic->const_index[nir_intrinsic_infos[intrinsic->intrinsic].index_map[index] - 1];
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
   put(t, "intrinsic ");
   put(t, info->name);
   put(t, " (");
   for (unsigned n = 0; n < info->num_srcs; n++) {
      put(t, n ? ", " : "");
      put_src(t, &intrinsic->src[n]);
   }
   put(t, ") (");
   for (unsigned n = 0; n < info->num_indices; n++) {
      put(t, n ? ", " : "");
      if (!put_index(t, intrinsic, info->indices[n]))
         return false;
   }
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
      put(t, "block_");
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
         put(t, "block block_");
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

static void
put_function(struct text *t, nir_function *function)
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
   nir_foreach_function_temp_variable(var, impl) {
      put(t, "decl_var INTERP_MODE_NONE ");
      put(t, glsl_get_type_name(var->type));
      put_char(t, ' ');
      put(t, var->name);
      put_char(t, '\n');
   }
   nir_index_blocks(impl);
   put_nodes(t, &impl->body);
   put(t, "block block_");
   put_number(t, impl->end_block->index);
   put(t, ":\n}\n");
}

/* ---- The program around them ---- */

/* The variables of all functions. */
#define foreach_local(var, nir)                                                                                        \
   nir_foreach_function(function, nir)                                                                                 \
      if (function->impl)                                                                                              \
         nir_foreach_function_temp_variable(var, function->impl)

/* Writes a structure's fields, those of the structures in it first, unless `done` has it. */
static void
print_structure(const struct glsl_type *type, struct set *done, FILE *stream)
{
   type = glsl_without_array(type);
   if (!glsl_type_is_struct_or_ifc(type) || _mesa_set_search(done, type))
      return;
   _mesa_set_add(done, type);
   for (unsigned n = 0; n < glsl_get_length(type); n++)
      print_structure(glsl_get_struct_field(type, n), done, stream);
   fprintf(stream, "struct %s {\n", glsl_get_type_name(type));
   for (unsigned n = 0; n < glsl_get_length(type); n++)
      fprintf(stream, "   %s %s;\n", glsl_get_type_name(glsl_get_struct_field(type, n)),
              glsl_get_struct_elem_name(type, n));
   fputs("}\n", stream);
}

/* The text does not say which of two colours that are blended is the second: for nvir it is the one with the later register. */
#define BEHIND_ALL_RESULTS 64
static void
second_colors(nir_shader *nir, int distance)
{
   if (nir->info.stage != MESA_SHADER_FRAGMENT)
      return;
   nir_foreach_shader_out_variable(var, nir) {
      if (var->data.index)
         var->data.driver_location += distance;
   }
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

/* Gives the variables names that no other one of the program has: v0, v1 and so on. */
static void
number_variables(nir_shader *nir)
{
   unsigned count = 0;
   nir_foreach_variable_in_shader(var, nir)
      var->name = ralloc_asprintf(var, "v%u", count++);
   foreach_local(var, nir)
      var->name = ralloc_asprintf(var, "v%u", count++);
}

/* Whether functions have nothing but values, and locals that are types and names. Registers, which the state tracker does not make,
 * initial values, which it lowers, images and what may happen to their memory are left to Mesa, with the functions around them. */
static bool
plain_functions(nir_shader *nir)
{
   nir_foreach_function(function, nir) {
      if (function->impl && has_registers(function->impl))
         return false;
   }
   foreach_local(var, nir) {
      if (var->constant_initializer || var->pointer_initializer || var->data.access ||
          glsl_type_is_image(glsl_without_array(var->type)))
         return false;
   }
   return true;
}

/* Mesa prints types by their names only: structures stand in front of the functions, as later versions print them. What the driver
 * hands us is a copy for the compiler: names and the hash of its source, which say nothing of the program, are taken off, so that
 * equal programs are equal texts. */
static char *
text_of_nir(nir_shader *nir, size_t *length)
{
   struct text t = { 0 };
   FILE *stream = open_memory(&t.bytes, &t.length);
   if (!stream)
      return NULL;

   struct set *done = _mesa_pointer_set_create(NULL);
   struct exec_list functions;
   tidy(nir);
   number_variables(nir);
   nir->info.name = NULL;
   memset(HASH_OF_SOURCE(&nir->info), 0, sizeof(HASH_OF_SOURCE(&nir->info)));
   bool ours = plain_functions(nir);
   exec_list_make_empty(&functions);
   if (ours)
      exec_list_move_nodes_to(&nir->functions, &functions);
   second_colors(nir, BEHIND_ALL_RESULTS);
   nir_print_shader(nir, stream);
   second_colors(nir, -BEHIND_ALL_RESULTS);
   if (ours)
      exec_list_move_nodes_to(&functions, &nir->functions);
   nir_foreach_variable_in_shader(var, nir)
      print_structure(var->type, done, stream);
   foreach_local(var, nir)
      print_structure(var->type, done, stream);
   _mesa_set_destroy(done, NULL);
   t.failed = fclose(stream) != 0;
   t.room = t.length;

   if (ours) {
      nir_foreach_function(function, nir)
         put_function(&t, function);
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
