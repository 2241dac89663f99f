//! What the client does, a row each.

use super::gl::{self, Gl, STORAGE};

type Done = Result<(), String>;

/// A row's name, and what it does.
type Row = (&'static str, fn(&Gl) -> Done);

pub(crate) const ROWS: &[Row] = &[
    ("transfer", transfer),
    ("churn", churn),
    ("texture-transfer", texture_transfer),
    ("float-transfer", float_transfer),
    ("clear-read", clear_read),
    ("time", time),
    ("add", add),
    ("shared", shared),
    ("uniform", uniform),
    ("private", private),
    ("division", division),
    ("double", double),
    ("shared-atomic", shared_atomic),
    ("indirect", indirect),
    ("empty-grid", empty_grid),
    ("out-of-bounds", out_of_bounds),
    ("image", image),
    ("image-layers", image_layers),
    ("image-volume", image_volume),
    ("image-float", image_float),
    ("fetch", fetch),
    ("levels", levels),
    ("linear", linear),
];

fn compare(what: &str, got: &[u32], want: &[u32]) -> Done {
    if got.len() != want.len() {
        return Err(format!("{what}: {} words instead of {}", got.len(), want.len()));
    }
    let wrong: Vec<usize> = (0..want.len()).filter(|i| got[*i] != want[*i]).collect();
    let Some(&first) = wrong.first() else { return Ok(()) };
    Err(format!(
        "{what}[{first}] is {:#010x} instead of {:#010x}; {} of {} are wrong",
        got[first],
        want[first],
        wrong.len(),
        want.len()
    ))
}

/// Words that are all different.
fn words(n: usize, seed: u32) -> Vec<u32> {
    (0..n as u32).map(|i| (i + seed).wrapping_mul(0x9e37_79b9) ^ i >> 3).collect()
}

const N: usize = 256;

/// Upload, copy on the card, partial update, fill, read back, map.
fn transfer(gl: &Gl) -> Done {
    let mut a = words(4096, 1);
    let from = gl.buffer(STORAGE, 0, &a);
    let to = gl.buffer(STORAGE, 1, &vec![0; 4096]);
    gl.copy(from, to, 0, 0, 16384);
    compare("copy", &gl.read(to, 4096), &a)?;
    gl.copy(from, to, 400, 36, 1204);
    a.copy_within(100..401, 9);
    compare("a part", &gl.read(to, 4096), &a)?;
    let b = words(16, 99);
    gl.update(to, 64, &b);
    a[16..32].copy_from_slice(&b);
    compare("update", &gl.read(to, 4096), &a)?;
    gl.fill(to, 256, 1024, 0x1234_5678, true);
    a[64..320].fill(0x1234_5678);
    compare("fill with words", &gl.read(to, 4096), &a)?;
    gl.fill(to, 4099, 77, 0x5a, false);
    let mut bytes: Vec<u8> = a.iter().flat_map(|w| w.to_le_bytes()).collect();
    bytes[4099..4176].fill(0x5a);
    let a: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    compare("fill with bytes", &gl.read(to, 4096), &a)?;
    compare("a mapping", &gl.read_mapped(to, 4096)?, &a)
}

/// Many buffers, large and small, made and deleted: each starts with what it was given.
fn churn(gl: &Gl) -> Done {
    for round in 0..6 {
        let sizes = [3000, 70_000, 1 << 20];
        let made: Vec<_> = sizes.iter().map(|&n| (gl.buffer(STORAGE, 0, &words(n, round)), n)).collect();
        for (buffer, n) in made {
            compare("a buffer", &gl.read(buffer, n), &words(n, round))?;
            gl.delete(buffer);
        }
    }
    Ok(())
}

fn texture_transfer(gl: &Gl) -> Done {
    let (w, h) = (67, 45);
    let a = words(w * h, 5);
    let mut b = words(w * h, 77);
    let from = gl.texture(gl::TEXTURE_2D, gl::RGBA8UI, [w, h, 1], &a);
    let to = gl.texture(gl::TEXTURE_2D, gl::RGBA8UI, [w, h, 1], &b);
    compare("upload", &gl.texels(from), &a)?;
    gl.copy_image(from, [5, 7], to, [13, 11], [17, 9]);
    for y in 0..9 {
        for x in 0..17 {
            b[(y + 11) * w + x + 13] = a[(y + 7) * w + x + 5];
        }
    }
    compare("copy", &gl.texels(to), &b)?;
    let a = words(16 * 9 * 5, 3);
    let layers = gl.texture(gl::TEXTURE_2D_ARRAY, gl::R32UI, [16, 9, 5], &a);
    compare("layers", &gl.texels(layers), &a)?;
    let volume = gl.texture(gl::TEXTURE_3D, gl::R32UI, [16, 9, 5], &a);
    compare("volume", &gl.texels(volume), &a)
}

/// Floats to bytes and back.
fn float_transfer(gl: &Gl) -> Done {
    let value = |i: usize| (i % 256) as f32 / 255.0;
    let a: Vec<u32> = (0..32 * 16 * 4).map(|i| value(i * 7).to_bits()).collect();
    let t = gl.texture(gl::TEXTURE_2D, gl::RGBA8_OF_FLOATS, [32, 16, 1], &a);
    let bytes = |v: &[u32]| v.iter().map(|f| (f32::from_bits(*f) * 255.0).round() as u32).collect::<Vec<_>>();
    compare("bytes", &bytes(&gl.texels(t)), &bytes(&a))
}

fn clear_read(gl: &Gl) -> Done {
    let t = gl.texture(gl::TEXTURE_2D, gl::RGBA8UI, [50, 30, 1], &words(1500, 8));
    compare("clear", &gl.cleared(t, [9, 8, 7, 6]), &[0x0607_0809; 1500])
}

fn time(gl: &Gl) -> Done {
    let [one, at_first] = gl.times(|| {
        gl.buffer(STORAGE, 0, &words(1 << 16, 0));
    });
    let [_, later] = gl.times(|| ());
    if !gl.fence() {
        return Err("the fence is not reached".into());
    }
    if later > at_first && one < 60_000_000_000 {
        return Ok(());
    }
    Err(format!("time stamps {at_first} and {later} ns, {one} ns for an upload"))
}

/// Runs a program over `N` invocations in groups of 64, with `input` at binding 0; gives what is at binding 1.
fn compute(gl: &Gl, input: &[u32], body: &str) -> Result<Vec<u32>, String> {
    gl.program(&format!(
        "layout(local_size_x=64)in;layout(std430,binding=0)buffer A{{uint a[];}};\
         layout(std430,binding=1)buffer O{{uint o[];}};{body}"
    ))?;
    gl.buffer(STORAGE, 0, input);
    let out = gl.buffer(STORAGE, 1, &[0xeeee_eeee; N]);
    gl.dispatch([N as u32 / 64, 1, 1]);
    Ok(gl.read(out, N))
}

fn add(gl: &Gl) -> Done {
    let a = words(N, 1);
    let got = compute(gl, &a, "void main(){uint i=gl_GlobalInvocationID.x;o[i]=a[i]+i*3u;}")?;
    let want: Vec<u32> = (0..N).map(|i| a[i].wrapping_add(3 * i as u32)).collect();
    compare("sum", &got, &want)
}

/// Prefix sums in shared memory.
fn shared(gl: &Gl) -> Done {
    let a = words(N, 2);
    let got = compute(
        gl,
        &a,
        "shared uint s[64];void main(){uint l=gl_LocalInvocationID.x,i=gl_GlobalInvocationID.x;s[l]=a[i];barrier();\
         for(uint d=1u;d<64u;d*=2u){uint v=l>=d?s[l-d]:0u;barrier();s[l]+=v;barrier();}o[i]=s[63u-l];}",
    )?;
    let mut want = vec![0; N];
    for group in 0..N / 64 {
        let mut sum = 0u32;
        for l in 0..64 {
            sum = sum.wrapping_add(a[group * 64 + l]);
            want[group * 64 + 63 - l] = sum;
        }
    }
    compare("prefix sum", &got, &want)
}

/// Uniform block, uniforms, atomic counter.
fn uniform(gl: &Gl) -> Done {
    let program = gl.program(
        "layout(local_size_x=64)in;layout(std140,binding=0)uniform U{uvec4 u[16];};uniform uint k;uniform uvec4 w;\
         layout(binding=0,offset=0)uniform atomic_uint c;layout(std430,binding=1)buffer O{uint o[];};\
         void main(){uint i=gl_GlobalInvocationID.x;atomicCounterIncrement(c);o[i]=u[i&15u].y*k+w.z+i;}",
    )?;
    let block = words(64, 3);
    gl.buffer(gl::UNIFORM, 0, &block);
    let counter = gl.buffer(gl::COUNTER, 0, &[5]);
    gl.uniform(program, c"k", &[7]);
    gl.uniform(program, c"w", &[1, 2, 300, 4]);
    let out = gl.buffer(STORAGE, 1, &[0; N]);
    gl.dispatch([N as u32 / 64, 1, 1]);
    let want: Vec<u32> =
        (0..N).map(|i| block[(i & 15) * 4 + 1].wrapping_mul(7).wrapping_add(300 + i as u32)).collect();
    compare("values", &gl.read(out, N), &want)?;
    compare("counter", &gl.read(counter, 1), &[5 + N as u32])
}

/// A private array with indices that the compiler cannot know: local memory.
fn private(gl: &Gl) -> Done {
    let a = words(N, 4);
    let got = compute(
        gl,
        &a,
        "void main(){uint i=gl_GlobalInvocationID.x;uint t[16];\
         for(uint k=0u;k<16u;k++)t[(k*5u+i)&15u]=a[(i+k)&255u];\
         uint r=0u;for(uint k=0u;k<16u;k++)r=r*31u+t[(a[k]+k)&15u];o[i]=r;}",
    )?;
    let want: Vec<u32> = (0..N)
        .map(|i| {
            let mut t = [0; 16];
            (0..16).for_each(|k| t[(k * 5 + i) & 15] = a[(i + k) & 255]);
            (0..16).fold(0u32, |r, k| r.wrapping_mul(31).wrapping_add(t[(a[k] as usize + k) & 15]))
        })
        .collect();
    compare("hash", &got, &want)
}

/// Calls into the driver's library.
fn division(gl: &Gl) -> Done {
    let a = words(N, 5);
    let body = "void main(){uint i=gl_GlobalInvocationID.x;o[i]=a[i]/(i+3u)+a[i]%(i+5u)+uint(int(a[i])/(int(i)-300));}";
    let got = compute(gl, &a, body)?;
    let want: Vec<u32> = (0..N as u32)
        .map(|i| {
            let v = a[i as usize];
            let signed = (v as i32).wrapping_div(i as i32 - 300) as u32;
            (v / (i + 3)).wrapping_add(v % (i + 5)).wrapping_add(signed)
        })
        .collect();
    compare("quotient", &got, &want)
}

fn double(gl: &Gl) -> Done {
    let a = words(N, 6);
    let body = "void main(){uint i=gl_GlobalInvocationID.x;double x=double(a[i]);\
                uvec2 w=unpackDouble2x32(x*x+double(i));o[i]=w.x^w.y;}";
    let got = compute(gl, &a, body)?;
    let want: Vec<u32> = (0..N)
        .map(|i| {
            let bits = f64::from(a[i]).mul_add(f64::from(a[i]), i as f64).to_bits();
            bits as u32 ^ (bits >> 32) as u32
        })
        .collect();
    // The compiler may join the two operations or not.
    let apart: Vec<u32> = (0..N)
        .map(|i| {
            let bits = (f64::from(a[i]) * f64::from(a[i]) + i as f64).to_bits();
            bits as u32 ^ (bits >> 32) as u32
        })
        .collect();
    let want: Vec<u32> = (0..N).map(|i| if got[i] == apart[i] { apart[i] } else { want[i] }).collect();
    compare("bits", &got, &want)
}

fn shared_atomic(gl: &Gl) -> Done {
    let a: Vec<u32> = words(N, 7).iter().map(|v| v >> 8 & 15).collect();
    let got = compute(
        gl,
        &a,
        "shared uint s[16];void main(){uint l=gl_LocalInvocationID.x,i=gl_GlobalInvocationID.x;if(l<16u)s[l]=0u;barrier();\
         atomicAdd(s[a[i]],i+1u);barrier();o[i]=s[l&15u];}",
    )?;
    let mut want = vec![0; N];
    for group in 0..N / 64 {
        let all = group * 64..group * 64 + 64;
        for i in all.clone() {
            let sum: usize = all.clone().filter(|k| a[*k] as usize == i & 15).map(|k| k + 1).sum();
            want[i] = sum as u32;
        }
    }
    compare("sums", &got, &want)
}

const GRID: &str = "layout(local_size_x=8,local_size_y=2)in;layout(std430,binding=0)buffer O{uint o[];};void main(){\
    uvec3 g=gl_GlobalInvocationID;uvec3 n=gl_NumWorkGroups*gl_WorkGroupSize;\
    o[(g.z*n.y+g.y)*n.x+g.x]=n.x*65536u+n.y*4096u+n.z*256u+gl_WorkGroupID.z*64u+gl_LocalInvocationIndex;}";

fn grid(w: u32, h: u32, d: u32) -> Vec<u32> {
    let all = (0..w * h * d).map(|i| (i % w, i / w % h, i / (w * h)));
    all.map(|(x, y, z)| w * 65536 + h * 4096 + d * 256 + z * 64 + y % 2 * 8 + x % 8).collect()
}

/// The grid comes from a buffer, which a kernel could have written.
fn indirect(gl: &Gl) -> Done {
    gl.program(GRID)?;
    let out = gl.buffer(STORAGE, 0, &[0; N]);
    let from = gl.buffer(STORAGE, 1, &[99, 4, 2, 2, 77]);
    gl.dispatch_indirect(from, 4);
    compare("indirect", &gl.read(out, N), &grid(32, 4, 2))?;
    gl.update(from, 4, &[2, 8, 1]);
    gl.dispatch_indirect(from, 4);
    compare("another", &gl.read(out, N), &grid(16, 16, 1))
}

fn empty_grid(gl: &Gl) -> Done {
    gl.program(GRID)?;
    let out = gl.buffer(STORAGE, 0, &[7; N]);
    gl.dispatch([0, 4, 1]);
    let from = gl.buffer(STORAGE, 1, &[3, 0, 1]);
    gl.dispatch_indirect(from, 0);
    compare("untouched", &gl.read(out, N), &[7; N])?;
    gl.dispatch([4, 4, 1]);
    compare("touched", &gl.read(out, N), &grid(32, 8, 1))
}

/// What lies outside of a buffer reads as zero and cannot be written.
fn out_of_bounds(gl: &Gl) -> Done {
    gl.program(
        "layout(local_size_x=64)in;layout(std430,binding=0)buffer A{uint a[];};layout(std430,binding=1)buffer O{uint o[];};\
         void main(){uint i=gl_GlobalInvocationID.x;o[i]=a[i*5u]+uint(a.length());a[i*7u+100u]=1u;}",
    )?;
    let a = gl.buffer(STORAGE, 0, &words(100, 1));
    let out = gl.buffer(STORAGE, 1, &[0; N]);
    gl.dispatch([N as u32 / 64, 1, 1]);
    let b = words(100, 1);
    let want: Vec<u32> = (0..N).map(|i| b.get(5 * i).map_or(0, |v| *v).wrapping_add(100)).collect();
    compare("read", &gl.read(out, N), &want)?;
    compare("written", &gl.read(a, 100), &b)
}

/// Load, store transposed, atomic, with what is outside.
fn image(gl: &Gl) -> Done {
    gl.program(
        "layout(local_size_x=8,local_size_y=8)in;layout(r32ui,binding=0)uniform uimage2D s;\
         layout(r32ui,binding=1)uniform uimage2D d;layout(r32ui,binding=2)uniform uimage2D c;\
         void main(){ivec2 p=ivec2(gl_GlobalInvocationID.xy);uint v=imageLoad(s,p).x;\
         imageStore(d,p.yx,uvec4(v*2u+1u));imageAtomicAdd(c,ivec2(0),v);imageStore(d,p-ivec2(100),uvec4(1u));\
         if(imageLoad(s,p+ivec2(40,0)).x!=0u)imageAtomicAdd(c,ivec2(0),1u);}",
    )?;
    let a = words(40 * 40, 9);
    let from = gl.texture(gl::TEXTURE_2D, gl::R32UI, [40, 40, 1], &a);
    let to = gl.texture(gl::TEXTURE_2D, gl::R32UI, [40, 40, 1], &[0; 1600]);
    let sum = gl.texture(gl::TEXTURE_2D, gl::R32UI, [1, 1, 1], &[11]);
    [from, to, sum].iter().zip(0..).for_each(|(t, unit)| gl.bind_image(unit, *t));
    gl.dispatch([5, 5, 1]);
    let want: Vec<u32> = (0..1600).map(|i| a[i % 40 * 40 + i / 40].wrapping_mul(2).wrapping_add(1)).collect();
    compare("transposed", &gl.texels(to), &want)?;
    compare("sum", &gl.texels(sum), &[a.iter().fold(11, |s: u32, v| s.wrapping_add(*v))])
}

/// Adds to each texel its position.
fn shifted(gl: &Gl, kind: &str, target: u32) -> Done {
    gl.program(&format!(
        "layout(local_size_x=4,local_size_y=4)in;layout(r32ui,binding=0)uniform {kind} i;\
         void main(){{ivec3 p=ivec3(gl_GlobalInvocationID);uint v=imageLoad(i,p).x;\
         imageStore(i,p,uvec4(v+uint(p.x+100*p.y+10000*p.z)));}}"
    ))?;
    let a = words(20 * 12 * 7, 10);
    let t = gl.texture(target, gl::R32UI, [20, 12, 7], &a);
    gl.bind_image(0, t);
    gl.dispatch([5, 3, 7]);
    let place = |i: usize| (i % 20 + i / 20 % 12 * 100 + i / 240 * 10000) as u32;
    let want: Vec<u32> = a.iter().enumerate().map(|(i, v)| v.wrapping_add(place(i))).collect();
    compare("texels", &gl.texels(t), &want)
}

fn image_layers(gl: &Gl) -> Done {
    shifted(gl, "uimage2DArray", gl::TEXTURE_2D_ARRAY)
}

fn image_volume(gl: &Gl) -> Done {
    shifted(gl, "uimage3D", gl::TEXTURE_3D)
}

/// Formats that convert: floats as they are, and as bytes.
fn image_float(gl: &Gl) -> Done {
    gl.program(
        "layout(local_size_x=8,local_size_y=8)in;layout(rgba32f,binding=0)uniform image2D s;\
         layout(rgba8,binding=1)writeonly uniform image2D d;void main(){ivec2 p=ivec2(gl_GlobalInvocationID.xy);\
         vec4 v=imageLoad(s,p);imageStore(d,p,v.wzyx);imageStore(s,p,v*2.0+vec4(1.0));}",
    )?;
    let value = |i: usize| (i * 3 % 256) as f32 / 255.0;
    let a: Vec<u32> = (0..16 * 16 * 4).map(|i| value(i).to_bits()).collect();
    let from = gl.texture(gl::TEXTURE_2D, gl::RGBA32F, [16, 16, 1], &a);
    let to = gl.texture(gl::TEXTURE_2D, gl::RGBA8, [16, 16, 1], &[0; 256]);
    gl.bind_image(0, from);
    gl.bind_image(1, to);
    gl.dispatch([2, 2, 1]);
    let want: Vec<u32> = (0..1024).map(|i| (value(i) * 2.0 + 1.0).to_bits()).collect();
    compare("floats", &gl.texels(from), &want)?;
    let byte = |i: usize| (i * 3 % 256) as u8;
    let want: Vec<u32> =
        (0..256).map(|t| u32::from_le_bytes([3, 2, 1, 0].map(|c| byte(4 * t + c)))).collect();
    compare("bytes", &gl.texels(to), &want)
}

/// Texels by their place and by coordinates, without a filter.
fn fetch(gl: &Gl) -> Done {
    gl.program(
        "layout(local_size_x=8,local_size_y=8)in;layout(binding=0)uniform usampler2D s;layout(binding=1)uniform sampler2D f;\
         layout(std430,binding=0)buffer O{uint o[];};void main(){ivec2 p=ivec2(gl_GlobalInvocationID.xy);\
         uint v=texelFetch(s,p,0).x;vec4 q=textureLod(f,(vec2(p)+0.5)/32.0+1.0,0.0);\
         o[p.y*32+p.x]=v+packUnorm4x8(q.zyxw);}",
    )?;
    let (a, b) = (words(1024, 11), words(1024, 12));
    let s = gl.texture(gl::TEXTURE_2D, gl::R32UI, [32, 32, 1], &a);
    let f = gl.texture(gl::TEXTURE_2D, gl::RGBA8, [32, 32, 1], &b);
    gl.bind_texture(0, s);
    gl.bind_texture(1, f);
    let out = gl.buffer(STORAGE, 0, &[0; 1024]);
    gl.dispatch([4, 4, 1]);
    let exchanged = |v: u32| v & 0xff00_ff00 | v >> 16 & 0xff | (v & 0xff) << 16;
    let want: Vec<u32> = (0..1024).map(|i| a[i].wrapping_add(exchanged(b[i]))).collect();
    compare("texels", &gl.read(out, 1024), &want)
}

/// Every level of a texture, each with its own layout.
fn levels(gl: &Gl) -> Done {
    gl.program(
        "layout(local_size_x=8,local_size_y=8)in;layout(binding=0)uniform usampler2D s;\
         layout(std430,binding=0)buffer O{uint o[];};void main(){uvec3 p=gl_GlobalInvocationID;\
         ivec2 n=textureSize(s,int(p.z));if(p.x<uint(n.x)&&p.y<uint(n.y))\
         o[(p.z*64u+p.y)*64u+p.x]=texelFetch(s,ivec2(p.xy),int(p.z)).x;}",
    )?;
    let t = gl.empty_texture(gl::TEXTURE_2D, gl::R32UI, [64, 40, 1], 7);
    let mut want = vec![0; 64 * 64 * 7];
    for level in 0..7 {
        let (w, h) = ((64 >> level).max(1), (40 >> level).max(1));
        let data = words(w * h, 100 * level as u32);
        gl.upload(t, level, [w, h, 1], &data);
        for i in 0..w * h {
            want[(level as usize * 64 + i / w) * 64 + i % w] = data[i];
        }
    }
    gl.filter(t, 0x2700, gl::NEAREST); // the nearest level
    gl.bind_texture(0, t);
    let out = gl.buffer(STORAGE, 0, &vec![0; want.len()]);
    gl.dispatch([8, 8, 7]);
    compare("levels", &gl.read(out, want.len()), &want)
}

/// Halfway between two texels: their mean.
fn linear(gl: &Gl) -> Done {
    gl.program(
        "layout(local_size_x=8)in;layout(binding=0)uniform sampler2D s;layout(std430,binding=0)buffer O{float o[];};\
         void main(){uint x=gl_GlobalInvocationID.x;o[x]=textureLod(s,vec2((float(x)+1.0)/8.0,0.5),0.0).y;}",
    )?;
    let value = |i: usize| (i * i) as f32;
    let a: Vec<u32> = (0..32).map(|i| value(i / 4).to_bits()).collect();
    let t = gl.texture(gl::TEXTURE_2D, gl::RGBA32F, [8, 1, 1], &a);
    gl.filter(t, gl::LINEAR, gl::LINEAR);
    gl.bind_texture(0, t);
    let out = gl.buffer(STORAGE, 0, &[0; 8]);
    gl.dispatch([1, 1, 1]);
    // The texture repeats: beside the last texel lies the first.
    let want: Vec<u32> = (0..8).map(|i| ((value(i) + value((i + 1) % 8)) / 2.0).to_bits()).collect();
    compare("means", &gl.read(out, 8), &want)
}
