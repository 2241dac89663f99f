/* Compiles a file of TGSI or NIR text, a kernel or a graphics stage, and says what its driver needs to know.
 *
 *     cc compile.c $(pkg-config --cflags --libs nvir) -o compile && ./compile gk104 kernel.tgsi
 */
#include <nvir.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t chip;

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    *length = 0;
    if (!file)
        return NULL;
    for (;;) {
        if (*length == room) {
            char *more = realloc(text, room = room ? 2 * room : 4096);
            if (!more)
                break;
            text = more;
        }
        size_t got = fread(text + *length, 1, room - *length, file);
        if (got == 0)
            break;
        *length += got;
    }
    fclose(file);
    return text;
}

static void print_error(const nvir_error *error)
{
    puts(nvir_error_text(error));
    for (uint32_t n = 0; n < nvir_error_count(error); n++) {
        nvir_diagnostic d;
        if (nvir_error_get(error, n, &d) == NVIR_STATUS_OK)
            printf("%u:%u: [%u, %u) %s\n", d.line, d.column, d.start, d.end, d.message);
    }
}

/* What a graphics stage has besides: the header that goes in front of the code, and where inputs and outputs lie. */
static void print_stage(const nvir_shader *shader)
{
    static const char *const stages[] = { "compute", "vertex", "tess_ctrl", "tess_eval", "geometry", "fragment" };
    static const char *const places[] = { "nowhere", "a", "patch a", "R" };
    nvir_stage_info stage = { .size = sizeof stage };
    if (nvir_shader_get_stage(shader, &stage) != NVIR_STATUS_OK)
        return;
    printf("%s header:", stages[stage.stage]);
    for (int n = 0; n < 20; n++)
        printf(" %08x", stage.header[n]);
    printf("\n");
    nvir_slot slot;
    for (uint32_t n = 0; nvir_shader_get_input(shader, n, &slot) == NVIR_STATUS_OK; n++)
        printf("input %u: semantic %u[%u] mask %x at %s[0x%x]\n", n, slot.semantic, slot.index, slot.mask,
               places[slot.place], slot.address);
    for (uint32_t n = 0; nvir_shader_get_output(shader, n, &slot) == NVIR_STATUS_OK; n++)
        printf("output %u: semantic %u[%u] mask %x at %s[0x%x]\n", n, slot.semantic, slot.index, slot.mask,
               places[slot.place], slot.address);
    /* In another state of the rasteriser some instructions differ. */
    if (stage.fixups) {
        nvir_shader_info info = { .size = sizeof info };
        nvir_state flat = { .flat_shade = 1 };
        nvir_fixup *fixups = calloc(stage.fixups, sizeof *fixups);
        nvir_shader_get_info(shader, &info);
        uint64_t *code = malloc(info.code_bytes);
        if (fixups && code) {
            memcpy(code, info.code, info.code_bytes);
            for (uint32_t n = 0; n < stage.fixups; n++)
                nvir_shader_get_fixup(shader, n, &fixups[n]);
            if (nvir_apply_fixups(chip, fixups, stage.fixups, &flat, code, info.code_bytes, stage.header,
                                  stage.colors) == NVIR_STATUS_OK)
                printf("%u fixups; flat: word 14 of the header is %08x, the code %s\n", stage.fixups, stage.header[14],
                       memcmp(code, info.code, info.code_bytes) ? "differs" : "is the same");
        }
        free(code);
        free(fixups);
    }
}

static void print_shader(const nvir_shader *shader)
{
    nvir_shader_info info = { .size = sizeof info };
    if (nvir_shader_get_info(shader, &info) != NVIR_STATUS_OK)
        return;
    printf("%s: %u bytes, first word %016llx, %u registers, %u local, %u shared, block %u %u %u\n",
           nvir_shader_name(shader), info.code_bytes, (unsigned long long)info.code[0], info.registers,
           info.local_bytes, info.shared_bytes, info.block_size[0], info.block_size[1], info.block_size[2]);
    static const char *const kinds[] = { "constant", "buffer", "uniform", "image", "texture", "sampler" };
    for (uint32_t kind = NVIR_USE_KIND_CONSTANT; kind <= NVIR_USE_KIND_SAMPLER; kind++) {
        for (uint32_t n = 0; n < nvir_shader_use_count(shader, kind); n++) {
            nvir_use use;
            if (nvir_shader_get_use(shader, kind, n, &use) == NVIR_STATUS_OK)
                printf("%s %u:%s%s%s %u bytes\n", kinds[kind], use.slot, use.indexed ? " indexed" : "",
                       use.read ? " read" : "", use.written ? " written" : "", use.bytes);
        }
    }
    print_stage(shader);
    nvir_blob *sass = NULL;
    if (nvir_shader_sass(shader, &sass) == NVIR_STATUS_OK)
        fwrite(nvir_blob_data(sass), 1, nvir_blob_size(sass), stdout);
    nvir_blob_free(sass);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s gf100|gk104|gk110 FILE\n", argv[0]);
        return 2;
    }
    if (nvir_interface() != NVIR_INTERFACE) {
        fprintf(stderr, "the library is not the one of this header\n");
        return 2;
    }
    chip = !strcmp(argv[1], "gf100") ? NVIR_CHIP_GF100
           : !strcmp(argv[1], "gk104") ? NVIR_CHIP_GK104 : NVIR_CHIP_GK110;
    const char *ending = strrchr(argv[2], '.');
    uint32_t language = ending && !strcmp(ending, ".nir") ? NVIR_LANGUAGE_NIR
                      : ending && !strcmp(ending, ".ir") ? NVIR_LANGUAGE_IR
                      : ending && !strcmp(ending, ".spv") ? NVIR_LANGUAGE_SPIR_V : NVIR_LANGUAGE_TGSI;
    size_t length;
    char *text = read_file(argv[2], &length);
    if (!text) {
        perror(argv[2]);
        return 2;
    }
    nvir_options options;
    nvir_options_init(&options, sizeof options);
    options.opt_level = 3;
    nvir_compiler *compiler = NULL;
    nvir_status status = nvir_compiler_new(chip, &options, &compiler);
    nvir_shader *shader = NULL;
    nvir_error *error = NULL;
    if (status == NVIR_STATUS_OK)
        status = nvir_compile(compiler, language, text, length, NULL, argv[2], &shader, &error);
    if (shader)
        print_shader(shader);
    if (error)
        print_error(error);
    nvir_error_free(error);
    nvir_shader_free(shader);
    nvir_compiler_free(compiler);
    free(text);
    return status;
}
