#version 450
// What transform feedback captures is named by the pipeline; the program writes its outputs as any other.
layout(xfb_buffer = 0, xfb_stride = 32) out;
layout(location = 0) in vec4 p;
layout(location = 0, xfb_offset = 16) out vec4 doubled;
out gl_PerVertex { layout(xfb_offset = 0) vec4 gl_Position; };
void main() {
    gl_Position = p;
    doubled = p + p;
}
