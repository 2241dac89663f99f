#version 450
#extension GL_ARB_shader_viewport_layer_array : require
// The layer and the viewport that a vertex program chooses.
layout(location = 0) in vec4 p;
layout(location = 1) in int n;
void main() {
    gl_Position = p;
    gl_Layer = n;
    gl_ViewportIndex = n + 1;
}
