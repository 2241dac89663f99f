/* Graphics stages between nvir and Mesa's nvc0 driver. */
#ifndef NVIR_STAGE_H
#define NVIR_STAGE_H

#include <stdbool.h>

#include "nv50_ir_driver.h"

#include <nvir.h>

/* What the program's text does not say, and the state that it is compiled for. */
void stage_options(const struct nv50_ir_prog_info *, nvir_options *);

/* Tells the driver what it makes the header and its own state of; false where it has no way to say it. */
bool stage_describe(const struct nv50_ir_prog_info *, const nvir_shader *, struct nv50_ir_prog_info_out *);

#endif
