/* A libnvir.so that refuses every program: what the glue in Mesa's driver does then. */
#include <nvir.h>

#include <string.h>

void nvir_options_init(nvir_options *options, uint32_t size)
{
    memset(options, 0, size);
    options->size = size;
}

nvir_status nvir_compiler_new(uint32_t chip, const nvir_options *options, nvir_compiler **out)
{
    static char compiler;
    (void)chip;
    (void)options;
    *out = (nvir_compiler *)&compiler;
    return NVIR_STATUS_OK;
}

nvir_status nvir_compile(const nvir_compiler *compiler, uint32_t language, const char *source, size_t length,
                         const char *entry, const char *name, nvir_shader **shader, nvir_error **error)
{
    static char refusal;
    (void)compiler;
    (void)language;
    (void)source;
    (void)length;
    (void)entry;
    (void)name;
    (void)shader;
    if (error)
        *error = (nvir_error *)&refusal;
    return NVIR_STATUS_UNSUPPORTED;
}

const char *nvir_error_text(const nvir_error *error)
{
    (void)error;
    return "this is refused";
}

nvir_status nvir_cache_key(const nvir_compiler *compiler, uint32_t language, const char *source, size_t length,
                           const char *entry, uint8_t *key)
{
    (void)compiler;
    (void)language;
    (void)source;
    (void)length;
    (void)entry;
    memset(key, 1, 32);
    return NVIR_STATUS_OK;
}

nvir_status nvir_shader_get_info(const nvir_shader *shader, nvir_shader_info *info)
{
    (void)shader;
    (void)info;
    return NVIR_STATUS_USAGE;
}

void nvir_compiler_free(nvir_compiler *compiler)
{
    (void)compiler;
}

void nvir_shader_free(nvir_shader *shader)
{
    (void)shader;
}

void nvir_error_free(nvir_error *error)
{
    (void)error;
}

/* What the glue asks of a shader that has been made: there is none. */
nvir_status nvir_shader_get_stage(const nvir_shader *shader, nvir_stage_info *info)
{
    (void)shader;
    (void)info;
    return NVIR_STATUS_USAGE;
}

nvir_status nvir_shader_get_output(const nvir_shader *shader, uint32_t number, nvir_slot *slot)
{
    (void)shader;
    (void)number;
    (void)slot;
    return NVIR_STATUS_USAGE;
}

nvir_status nvir_shader_get_fixup(const nvir_shader *shader, uint32_t number, nvir_fixup *fixup)
{
    (void)shader;
    (void)number;
    (void)fixup;
    return NVIR_STATUS_USAGE;
}

nvir_status nvir_apply_fixups(uint32_t chip, const nvir_fixup *fixups, uint32_t count, const nvir_state *state, uint64_t *code,
                              uint32_t code_bytes, uint32_t *header, const uint32_t *colors)
{
    (void)chip;
    (void)fixups;
    (void)count;
    (void)state;
    (void)code;
    (void)code_bytes;
    (void)header;
    (void)colors;
    return NVIR_STATUS_USAGE;
}
