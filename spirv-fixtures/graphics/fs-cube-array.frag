#version 450
// A face of a cube of an array of cubes.
layout(binding = 0) uniform samplerCubeArray cubes;
layout(location = 0) in vec4 at;
layout(location = 0) out vec4 color;
void main() { color = textureLod(cubes, at, 0.0); }
