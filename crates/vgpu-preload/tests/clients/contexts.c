/* Eight contexts in eight threads, each of which compiles and draws programs of its own, all at once; pixels are compared.
 * Exit status 0: all are right. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 8
#define ROUNDS 12
#define SIZE 16

static EGLDisplay display;
static EGLConfig config;
static pthread_barrier_t all_there;

static const char vertex[] =
    "#version 300 es\n"
    "out vec2 at;\n"
    "void main() {\n"
    "    at = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0;\n"
    "    gl_Position = vec4(at * 2.0 - 1.0, 0.0, 1.0);\n"
    "}\n";

static GLuint shader(GLenum stage, const char *text)
{
    GLuint made = glCreateShader(stage);
    glShaderSource(made, 1, &text, NULL);
    glCompileShader(made);
    return made;
}

/* Draws with a program that no other thread and no other round has: how many pixels are wrong. */
static int round_of(int thread, int round)
{
    char fragment[512];
    unsigned factor = 3 + 2 * thread + 16 * round, turns = 1 + (thread + round) % 5;
    snprintf(fragment, sizeof(fragment),
             "#version 300 es\nprecision highp float;\nprecision highp int;\nin vec2 at;\nout vec4 color;\n"
             "void main() {\n"
             "    uint x = uint(at.x * %d.0) + uint(at.y * %d.0) * %uu;\n"
             "    for (uint n = 0u; n < %uu; n++) x = x * %uu + n;\n"
             "    color = vec4(float(x & 255u), float(x >> 8 & 255u), float(x >> 16 & 255u), 255.0) / 255.0;\n"
             "}\n",
             SIZE, SIZE, factor, turns, factor);
    GLuint program = glCreateProgram();
    glAttachShader(program, shader(GL_VERTEX_SHADER, vertex));
    glAttachShader(program, shader(GL_FRAGMENT_SHADER, fragment));
    glLinkProgram(program);
    GLint linked;
    glGetProgramiv(program, GL_LINK_STATUS, &linked);
    if (!linked)
        return SIZE * SIZE;
    glUseProgram(program);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    unsigned char pixels[SIZE][SIZE][4];
    glReadPixels(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    glDeleteProgram(program);

    int wrong = 0;
    for (unsigned y = 0; y < SIZE; y++) {
        for (unsigned x = 0; x < SIZE; x++) {
            unsigned value = x + y * factor;
            for (unsigned n = 0; n < turns; n++)
                value = value * factor + n;
            for (int c = 0; c < 3; c++)
                wrong += pixels[y][x][c] != (value >> 8 * c & 255);
        }
    }
    return wrong;
}

static void *run(void *number)
{
    static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE };
    int thread = (int)(long)number, wrong = 0;
    eglBindAPI(EGL_OPENGL_ES_API);
    EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
    if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
        return (void *)1L;
    GLuint target, buffer;
    glGenTextures(1, &target);
    glBindTexture(GL_TEXTURE_2D, target);
    glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, SIZE, SIZE);
    glGenFramebuffers(1, &buffer);
    glBindFramebuffer(GL_FRAMEBUFFER, buffer);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, target, 0);
    glViewport(0, 0, SIZE, SIZE);
    pthread_barrier_wait(&all_there);
    for (int round = 0; round < ROUNDS; round++)
        wrong += round_of(thread, round);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(display, context);
    return (void *)(long)wrong;
}

int main(void)
{
    static const EGLint wanted[] = { EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE };
    EGLint found;
    display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    if (!eglInitialize(display, NULL, NULL) || !eglChooseConfig(display, wanted, &config, 1, &found) || !found)
        return fprintf(stderr, "no EGL\n"), 2;
    pthread_t threads[THREADS];
    long wrong = 0;
    pthread_barrier_init(&all_there, NULL, THREADS);
    for (long n = 0; n < THREADS; n++)
        pthread_create(&threads[n], NULL, run, (void *)n);
    for (int n = 0; n < THREADS; n++) {
        void *result;
        pthread_join(threads[n], &result);
        wrong += (long)result;
    }
    printf("%d contexts, %d programs each, %ld components wrong\n", THREADS, ROUNDS, wrong);
    return wrong != 0;
}
