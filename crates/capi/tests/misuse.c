/* Null pointers, numbers that do not exist, text that is none: refused, never a crash. */
#include <nvir.h>

#include <stdio.h>
#include <string.h>

static int failures;

static const char *const blocks =
    "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 32\n%sDCL SV[0], BLOCK_SIZE\nDCL BUFFER[0]\n"
    "IMM[0] UINT32 {0, 0, 0, 0}\n%sSTORE BUFFER[0].x, IMM[0].xxxx, SV[0].xxxx\n%sEND\n";

#define CHECK(what) \
    do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); failures++; } } while (0)

/* The block of a launch must be what the program declares, in each dimension that it declares. */
static void check_blocks(const char *properties, const char *before, const char *behind, const uint32_t declared[3])
{
    nvir_compiler *compiler = NULL;
    nvir_shader *shader = NULL;
    nvir_shader_info info = { .size = sizeof info };
    char text[500];
    snprintf(text, sizeof text, blocks, properties, before, behind);
    CHECK(nvir_compiler_new(NVIR_CHIP_GK104, NULL, &compiler) == NVIR_STATUS_OK);
    CHECK(nvir_compile(compiler, 0, text, strlen(text), NULL, NULL, &shader, NULL) == NVIR_STATUS_OK && shader);
    if (!shader)
        return;
    CHECK(nvir_shader_get_info(shader, &info) == NVIR_STATUS_OK);
    CHECK(!memcmp(info.block_size, declared, sizeof info.block_size));
    uint32_t launched[3] = { 7, 7, 7 };
    const uint32_t other[3][3] = { { 16, 1, 1 }, { 64, 1, 1 }, { 1, 32, 1 } };
    for (int i = 0; i < 3; i++)
        CHECK(nvir_shader_launch_block(shader, other[i], launched) == NVIR_STATUS_INPUT && launched[0] == 7);
    const uint32_t flat[3] = { 32, 1, 1 }, deep[3] = { 32, 2, 3 };
    CHECK(nvir_shader_launch_block(shader, flat, launched) == NVIR_STATUS_OK);
    CHECK(launched[0] == 32 && launched[1] == 1 && launched[2] == 1);
    /* What is not declared the launch says. */
    CHECK(nvir_shader_launch_block(shader, deep, launched) == (declared[1] ? NVIR_STATUS_INPUT : NVIR_STATUS_OK));
    if (!declared[1])
        CHECK(info.whole_warps ? launched[0] == 192 && launched[1] == 1 : launched[1] == 2 && launched[2] == 3);
    CHECK(nvir_shader_launch_block(NULL, flat, launched) == NVIR_STATUS_USAGE);
    CHECK(nvir_shader_launch_block(shader, NULL, launched) == NVIR_STATUS_USAGE);
    CHECK(nvir_shader_launch_block(shader, flat, NULL) == NVIR_STATUS_USAGE);
    nvir_shader_free(shader);
    nvir_compiler_free(compiler);
}

/* A vertex shader has a header and outputs, a kernel has none; fixups outside the code change nothing. */
static void check_stages(const nvir_compiler *compiler)
{
    const char *vert = "VERT\nDCL IN[0]\nDCL OUT[0], POSITION\n0: MOV OUT[0], IN[0]\n1: END\n", *comp = "COMP\n0: END\n";
    nvir_shader *vertex = NULL, *kernel = NULL;
    nvir_stage_info stage = { .size = sizeof stage };
    nvir_slot slot;
    nvir_fixup fixup;
    CHECK(nvir_compile(compiler, 0, vert, strlen(vert), NULL, NULL, &vertex, NULL) == NVIR_STATUS_OK && vertex);
    CHECK(nvir_compile(compiler, 0, comp, strlen(comp), NULL, NULL, &kernel, NULL) == NVIR_STATUS_OK && kernel);
    CHECK(nvir_shader_get_stage(kernel, &stage) == NVIR_STATUS_UNSUPPORTED);
    CHECK(nvir_shader_get_output(kernel, 0, &slot) == NVIR_STATUS_USAGE);
    CHECK(nvir_shader_get_stage(vertex, NULL) == NVIR_STATUS_USAGE);
    CHECK(nvir_shader_get_stage(NULL, &stage) == NVIR_STATUS_USAGE);
    CHECK(nvir_shader_get_stage(vertex, &stage) == NVIR_STATUS_OK && stage.stage == NVIR_STAGE_VERTEX);
    CHECK((stage.header[0] >> 10 & 15) == 1 && stage.inputs == 1 && stage.outputs == 1 && stage.fixups == 0);
    CHECK(stage.edge_flag == 0xffffffff && stage.tess_mode == 0xffffffff && stage.takes_clip_planes == 1);
    CHECK(nvir_shader_get_output(vertex, 0, &slot) == NVIR_STATUS_OK && slot.semantic == NVIR_SEMANTIC_POSITION);
    CHECK(slot.place == NVIR_PLACE_VERTEX && slot.address == 0x70 && slot.mask == 15);
    CHECK(nvir_shader_get_input(vertex, 0, &slot) == NVIR_STATUS_OK && slot.semantic == NVIR_SEMANTIC_ATTRIBUTE);
    CHECK(nvir_shader_get_input(vertex, 0, NULL) == NVIR_STATUS_USAGE);
    CHECK(nvir_shader_get_input(vertex, 1, &slot) == NVIR_STATUS_USAGE);
    CHECK(nvir_shader_get_fixup(vertex, 0, &fixup) == NVIR_STATUS_USAGE);

    uint64_t code[2] = { 1, 2 };
    nvir_state state = { .flat_shade = 1 };
    const nvir_fixup outside = { .pc = 16 }, unknown = { .kind = 3 }, good = { .pc = 8, .mode = 3 };
    CHECK(nvir_apply_fixups(1, &outside, 1, &state, code, 16, NULL, NULL) == NVIR_STATUS_INPUT);
    CHECK(nvir_apply_fixups(1, &unknown, 1, &state, code, 16, NULL, NULL) == NVIR_STATUS_INPUT);
    CHECK(nvir_apply_fixups(1, &good, 1, &state, code, 16, stage.header + 5, stage.colors) == NVIR_STATUS_INPUT);
    CHECK(nvir_apply_fixups(1, &good, 1, &state, code, 16, stage.header, NULL) == NVIR_STATUS_USAGE);
    CHECK(nvir_apply_fixups(1, &good, 1, NULL, code, 16, NULL, NULL) == NVIR_STATUS_USAGE);
    CHECK(nvir_apply_fixups(1, NULL, 1, &state, code, 16, NULL, NULL) == NVIR_STATUS_USAGE);
    CHECK(nvir_apply_fixups(9, &good, 1, &state, code, 16, NULL, NULL) == NVIR_STATUS_USAGE);
    CHECK(code[0] == 1 && code[1] == 2);
    CHECK(nvir_apply_fixups(1, &good, 1, &state, code, 16, NULL, NULL) == NVIR_STATUS_OK);
    CHECK(code[0] == 1 && code[1] == (2 | 2 << 6 | 63u << 26));
    nvir_shader_free(vertex);
    nvir_shader_free(kernel);

    nvir_options options;
    nvir_compiler *other = NULL;
    nvir_options_init(&options, sizeof options);
    options.tess_domain = 4;
    CHECK(nvir_compiler_new(NVIR_CHIP_GK104, &options, &other) == NVIR_STATUS_USAGE && !other);
    nvir_options_init(&options, sizeof options);
    options.clip_planes = 9;
    CHECK(nvir_compiler_new(NVIR_CHIP_GK104, &options, &other) == NVIR_STATUS_USAGE && !other);
}

int main(void)
{
    const uint32_t width[3] = { 32, 0, 0 }, all[3] = { 32, 1, 1 };
    check_blocks("", "", "", width);
    check_blocks("", "IF_ASKED\n", "ENDIF\n", width);
    check_blocks("PROPERTY CS_FIXED_BLOCK_HEIGHT 1\nPROPERTY CS_FIXED_BLOCK_DEPTH 1\n", "", "", all);
    nvir_compiler *compiler = NULL;
    nvir_shader *shader = NULL;
    nvir_error *error = NULL;
    nvir_blob *blob = NULL;
    nvir_options options;
    const char *text = "COMP\nDCL TEMP[0]\n  0: END\n";

    CHECK(nvir_compiler_new(3, NULL, &compiler) == NVIR_STATUS_USAGE && !compiler);
    CHECK(nvir_compiler_new(NVIR_CHIP_GF100, NULL, NULL) == NVIR_STATUS_USAGE);
    nvir_options_init(&options, sizeof options);
    options.opt_level = 5;
    CHECK(nvir_compiler_new(NVIR_CHIP_GF100, &options, &compiler) == NVIR_STATUS_USAGE);
    nvir_options_init(&options, sizeof options);
    options.max_gprs = 15;
    CHECK(nvir_compiler_new(NVIR_CHIP_GF100, &options, &compiler) == NVIR_STATUS_USAGE);
    nvir_options_init(&options, sizeof options);
    options.size = 7;
    CHECK(nvir_compiler_new(NVIR_CHIP_GF100, &options, &compiler) == NVIR_STATUS_USAGE);
    /* An older program, whose options end after the level. */
    nvir_options_init(&options, 8);
    CHECK(options.size == 8 && options.opt_level == 3);
    CHECK(nvir_compiler_new(NVIR_CHIP_GF100, &options, &compiler) == NVIR_STATUS_OK && compiler);
    nvir_options_init(NULL, sizeof options);

    CHECK(nvir_compile(NULL, 0, text, strlen(text), NULL, NULL, &shader, &error) == NVIR_STATUS_USAGE);
    CHECK(nvir_compile(compiler, 9, text, strlen(text), NULL, NULL, &shader, &error) == NVIR_STATUS_USAGE);
    CHECK(nvir_compile(compiler, 0, NULL, 5, NULL, NULL, &shader, &error) == NVIR_STATUS_USAGE);
    CHECK(nvir_compile(compiler, 0, "\xff\xfe", 2, NULL, NULL, &shader, &error) == NVIR_STATUS_USAGE);
    CHECK(nvir_compile(compiler, 0, text, strlen(text), "\xff", NULL, &shader, &error) == NVIR_STATUS_USAGE);
    CHECK(nvir_compile(compiler, 0, text, strlen(text), NULL, NULL, NULL, &error) == NVIR_STATUS_USAGE);
    CHECK(!shader && !error);
    CHECK(nvir_compile(compiler, 0, "", 0, NULL, NULL, &shader, NULL) == NVIR_STATUS_INPUT);
    CHECK(nvir_compile(compiler, 0, "", 0, NULL, "empty", &shader, &error) == NVIR_STATUS_INPUT && error);
    CHECK(strstr(nvir_error_text(error), "empty"));
    CHECK(nvir_error_count(error) > 0);
    nvir_diagnostic d;
    CHECK(nvir_error_get(error, 99, &d) == NVIR_STATUS_USAGE);
    CHECK(nvir_error_get(error, 0, NULL) == NVIR_STATUS_USAGE);
    CHECK(nvir_error_get(error, 0, &d) == NVIR_STATUS_OK && d.status == NVIR_STATUS_INPUT && strlen(d.message));
    nvir_error_free(error);
    error = NULL;
    check_stages(compiler);

    CHECK(nvir_compile(compiler, 0, text, strlen(text), NULL, NULL, &shader, &error) == NVIR_STATUS_OK && shader);
    nvir_shader_info info;
    memset(&info, 0, sizeof info);
    CHECK(nvir_shader_get_info(shader, &info) == NVIR_STATUS_USAGE);
    info.size = sizeof info;
    CHECK(nvir_shader_get_info(NULL, &info) == NVIR_STATUS_USAGE);
    CHECK(nvir_shader_get_info(shader, NULL) == NVIR_STATUS_USAGE);
    CHECK(nvir_shader_get_info(shader, &info) == NVIR_STATUS_OK && info.code_bytes >= 8 && info.code);
    nvir_use use;
    CHECK(nvir_shader_use_count(shader, 77) == 0);
    CHECK(nvir_shader_get_use(shader, NVIR_USE_KIND_BUFFER, 0, &use) == NVIR_STATUS_USAGE);
    CHECK(nvir_disassemble(NVIR_CHIP_GF100, info.code, info.code_bytes / 8, &blob) == NVIR_STATUS_OK);
    CHECK(nvir_blob_size(blob) > 4);
    nvir_blob_free(blob);
    blob = NULL;
    CHECK(nvir_disassemble(NVIR_CHIP_GF100, NULL, 4, &blob) == NVIR_STATUS_USAGE);
    CHECK(nvir_disassemble(5, info.code, 1, &blob) == NVIR_STATUS_USAGE && !blob);
    unsigned char one[32], two[32];
    CHECK(nvir_cache_key(compiler, 0, text, strlen(text), NULL, one) == NVIR_STATUS_OK);
    CHECK(nvir_cache_key(compiler, 1, text, strlen(text), NULL, two) == NVIR_STATUS_OK && memcmp(one, two, 32));
    CHECK(nvir_cache_key(compiler, 1, text, strlen(text), NULL, NULL) == NVIR_STATUS_USAGE);
    nvir_shader_free(shader);
    nvir_compiler_free(compiler);

    CHECK(!nvir_error_text(NULL) && !nvir_error_count(NULL) && !nvir_blob_data(NULL) && !nvir_shader_name(NULL));
    nvir_blob_free(NULL);
    nvir_shader_free(NULL);
    nvir_error_free(NULL);
    nvir_compiler_free(NULL);
    return failures != 0;
}
