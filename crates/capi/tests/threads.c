/* Eight threads compile the same kernel with one compiler: every result is the same. */
#include <nvir.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 100 };

static nvir_compiler *compiler;
static char text[1 << 20];
static size_t length;
static const char *entry;

static void *work(void *unused)
{
    (void)unused;
    nvir_blob *first = NULL;
    long made = 0;
    for (int n = 0; n < ROUNDS; n++) {
        nvir_shader *shader = NULL;
        nvir_blob *file = NULL;
        if (nvir_compile(compiler, NVIR_LANGUAGE_TGSI, text, length, entry, NULL, &shader, NULL) == NVIR_STATUS_OK
            && nvir_shader_cubin(shader, &file) == NVIR_STATUS_OK)
            made++;
        if (!first) {
            first = file;
        } else {
            if (nvir_blob_size(first) != nvir_blob_size(file)
                || memcmp(nvir_blob_data(first), nvir_blob_data(file), nvir_blob_size(file)))
                made = -ROUNDS;
            nvir_blob_free(file);
        }
        nvir_shader_free(shader);
    }
    nvir_blob_free(first);
    return (void *)made;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (!file)
        return 2;
    length = fread(text, 1, sizeof text, file);
    fclose(file);
    entry = argv[2];
    if (nvir_compiler_new(NVIR_CHIP_GK104, NULL, &compiler) != NVIR_STATUS_OK)
        return 2;
    pthread_t threads[THREADS];
    for (int n = 0; n < THREADS; n++)
        if (pthread_create(&threads[n], NULL, work, NULL))
            return 2;
    long made = 0;
    for (int n = 0; n < THREADS; n++) {
        void *result;
        pthread_join(threads[n], &result);
        made += (long)result;
    }
    nvir_compiler_free(compiler);
    printf("%d threads, %ld shaders, one result\n", THREADS, made);
    return made == THREADS * ROUNDS ? 0 : 1;
}
