#version 450
// Derivatives of a product differ by row and column, those of a sum do not.
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 fine;
layout(location = 1) out vec4 coarse;
void main() {
    float product = at.x * at.y;
    float sum = 2.0 * at.x + 3.0 * at.y;
    fine = vec4(dFdxFine(product), dFdyFine(product), fwidthFine(product), dFdx(sum));
    coarse = vec4(dFdxCoarse(sum), dFdyCoarse(sum), fwidthCoarse(sum), dFdy(sum));
}
