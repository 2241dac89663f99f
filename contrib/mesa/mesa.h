/* What differs between the versions of Mesa that the glue is written for. `build` defines MESA_RELEASE: 2203 for 22.3, 2500 for 25.0. */
#ifndef NVIR_MESA_H
#define NVIR_MESA_H

#include "compiler/nir/nir.h"
#include "pipe/p_defines.h"

#include "nv50_ir_driver.h"

#if MESA_RELEASE == 2203

#define RESULT(instr) (&(instr)->dest.ssa) /* where there are no registers */
#define ALU_RESULT(alu) (&(alu)->dest.dest.ssa)
#define nir_def nir_ssa_def
#define nir_instr_type_undef nir_instr_type_ssa_undef
#define nir_instr_as_undef nir_instr_as_ssa_undef
#define HASH_OF_SOURCE(info) (info)->source_sha1
#define MESA_PRIM_POINTS PIPE_PRIM_POINTS
#define MESA_PRIM_LINES PIPE_PRIM_LINES
#define MESA_PRIM_LINE_STRIP PIPE_PRIM_LINE_STRIP
#define MESA_PRIM_TRIANGLES PIPE_PRIM_TRIANGLES
#define MESA_PRIM_TRIANGLE_STRIP PIPE_PRIM_TRIANGLE_STRIP
#define MESA_PRIM_QUADS PIPE_PRIM_QUADS
#define MESA_PRIM_COUNT PIPE_PRIM_MAX
#define SYSTEM_VALUE_OF_TESS_COORD TGSI_SEMANTIC_TESSCOORD

/* The program in NIR; null if it is one in TGSI. */
static inline nir_shader *
nir_of(const struct nv50_ir_prog_info *info)
{
   return info->bin.sourceRep == PIPE_SHADER_IR_NIR ? (nir_shader *)info->bin.source : NULL;
}

static inline void
set_nir(struct nv50_ir_prog_info *info, nir_shader *nir)
{
   info->bin.source = nir;
}

static inline bool
has_registers(const nir_function_impl *impl)
{
   return !exec_list_is_empty(&impl->registers);
}

static inline bool
has_modifiers(const nir_alu_instr *alu)
{
   bool any = alu->dest.saturate;
   for (unsigned n = 0; n < nir_op_infos[alu->op].num_inputs; n++)
      any |= alu->src[n].negate || alu->src[n].abs;
   return any;
}

#elif MESA_RELEASE == 2500

/* All programs are in NIR: registers are accessed by intrinsics, and modifiers have gone. */
#define RESULT(instr) (&(instr)->def)
#define ALU_RESULT RESULT
#define HASH_OF_SOURCE(info) (info)->source_blake3
#define SYSTEM_VALUE_OF_TESS_COORD SYSTEM_VALUE_TESS_COORD

static inline nir_shader *
nir_of(const struct nv50_ir_prog_info *info)
{
   return info->bin.nir;
}

static inline void
set_nir(struct nv50_ir_prog_info *info, nir_shader *nir)
{
   info->bin.nir = nir;
}

static inline bool
has_registers(const nir_function_impl *impl)
{
   (void)impl;
   return false;
}

static inline bool
has_modifiers(const nir_alu_instr *alu)
{
   (void)alu;
   return false;
}

#else
#error "the glue is written for Mesa 22.3 and 25.0"
#endif

#endif
