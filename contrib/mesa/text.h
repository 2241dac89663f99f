/* A program as text, for nvir to read. */
#ifndef NVIR_TEXT_H
#define NVIR_TEXT_H

#include <stddef.h>

#include "nv50_ir_driver.h"

/* From malloc; null where there is no memory. Nothing is lowered here: nvir reads what the state tracker hands to the driver, and
 * lowers it knowing the chip. NIR is tidied, and loses the names of its variables. */
char *text_of(const struct nv50_ir_prog_info *, size_t *length);

#endif
