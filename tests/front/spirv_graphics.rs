//! Graphics stages, textures and images in SPIR-V: interfaces, and what is refused. What modules compute, `spirv-fixtures` says.

use crate::spirv_modules::{bytes, compile_with, edited, inst, is, module, position, raised, refused};
use nvir::diag::Fault;
use nvir::front::spirv::listing;
use nvir::image::stage::Attribute;
use nvir::options::{Domain, StageOptions, TessInfo};
use nvir::stage::{Semantic, Stage};
use nvir::{Chip, Compiler, Options, Shader, Source};
use spirv::{BuiltIn, Decoration, ExecutionMode, Op};

/// A graphics module whose decorations of a kind were changed: `change` gets its literal.
fn decorated(name: &str, decoration: Decoration, mut change: impl FnMut(u32) -> u32) -> Vec<u8> {
    edited(&format!("graphics/{name}"), |insts| {
        for i in insts.iter_mut().filter(|i| is(i, Op::Decorate) && i[2] == decoration as u32) {
            i[3] = change(i[3]);
        }
    })
}

/// A graphics module without the execution modes of a kind.
fn without_mode(name: &str, mode: ExecutionMode) -> Vec<u8> {
    edited(&format!("graphics/{name}"), |insts| {
        insts.retain(|i| !(is(i, Op::ExecutionMode) && i[2] == mode as u32));
    })
}

fn whole(name: &str) -> Shader {
    compile_with(&bytes(&module(&format!("graphics/{name}"))), None, Options::default()).unwrap()
}

#[test]
fn locations_do_not_overlap() {
    let all_at_0 = decorated("fs-interpolate-at", Decoration::Location, |_| 0);
    refused(&all_at_0, Fault::Input, "overlaps");
    // Components of their own at one location do not.
    whole("fs-interpolation");
    // A colour, and the second one to be blended with it, which has the place of the next.
    let second = edited("graphics/fs-dual-source", |insts| {
        let location = |i: &Vec<u32>| is(i, Op::Decorate) && i[2] == Decoration::Location as u32;
        let index = insts.iter().position(|i| is(i, Op::Decorate) && i[2..] == [Decoration::Index as u32, 1]);
        let target = insts[index.unwrap()][1];
        insts.iter_mut().filter(|i| location(i) && i[1] == target).for_each(|i| i[3] = 7);
    });
    refused(&second, Fault::Input, "has no output at location 7");
}

#[test]
fn an_input_says_where_it_lies() {
    let nowhere = edited("graphics/fs-interpolate-at", |insts| {
        insts.retain(|i| !(is(i, Op::Decorate) && i[2] == Decoration::Location as u32));
    });
    refused(&nowhere, Fault::Input, "has neither a Location nor a BuiltIn");
    let beyond = decorated("fs-interpolate-at", Decoration::Location, |l| l + 32);
    refused(&beyond, Fault::Input, "at location 32");
    let colour = decorated("vs-output-read-back", Decoration::Location, |l| l + 30);
    refused(&colour, Fault::Input, "at location 32");
}

#[test]
fn built_ins_belong_to_their_stage_and_have_their_type() {
    let to = |b: BuiltIn| decorated("fs-outputs", Decoration::BuiltIn, move |_| b as u32);
    refused(&to(BuiltIn::Position), Fault::Input, "the built-in");
    let members = |b: BuiltIn| {
        edited("graphics/vs-ids-gl", move |insts| {
            let built_in =
                |i: &&mut Vec<u32>| is(i, Op::MemberDecorate) && i[3] == Decoration::BuiltIn as u32;
            insts.iter_mut().filter(built_in).for_each(|i| i[4] = b as u32);
        })
    };
    let depth = members(BuiltIn::FragDepth);
    refused(&depth, Fault::Input, "a vert shader has no output at the built-in FragDepth");
    let id = decorated("vs-ids-gl", Decoration::BuiltIn, |_| BuiltIn::FragCoord as u32);
    refused(&id, Fault::Unsupported, "FragCoord in vert shaders");
    let size = members(BuiltIn::PointSize);
    refused(&size, Fault::Input, "the built-in PointSize has another type");
    // An array of them, whose elements a loop reads back: found by a mutated module, which never came to an end.
    for name in ["gs-read-back", "vs-output-read-back", "vs-output-indirect.V"] {
        let sizes = edited(&format!("graphics/{name}"), |insts| {
            let location = |i: &&mut Vec<u32>| is(i, Op::Decorate) && i[2] == Decoration::Location as u32;
            for i in insts.iter_mut().filter(location) {
                (i[2], i[3]) = (Decoration::BuiltIn as u32, BuiltIn::PointSize as u32);
            }
        });
        refused(&sizes, Fault::Input, "the built-in PointSize has another type");
    }
    let thread = decorated("vs-ids-gl", Decoration::BuiltIn, |_| BuiltIn::LocalInvocationIndex as u32);
    refused(&thread, Fault::Input, "LocalInvocationIndex does not exist in a vert shader");
}

#[test]
fn a_stencil_value_is_refused() {
    let stencil = decorated("fs-outputs", Decoration::BuiltIn, |b| match b {
        b if b == BuiltIn::SampleMask as u32 => b,
        b if b == BuiltIn::FragDepth as u32 => BuiltIn::FragStencilRefEXT as u32,
        b => b,
    });
    refused(&stencil, Fault::Input, "FragStencilRefEXT has another type");
}

#[test]
fn the_interface_names_what_is_used() {
    let short = edited("graphics/fs-interpolate-at", |insts| {
        let n = position(insts, Op::EntryPoint);
        let last = insts[n].len() - 1;
        insts[n].truncate(last);
    });
    refused(&short, Fault::Input, "the interface of the entry point does not name");
}

#[test]
fn stages_say_what_they_make() {
    let refuse = |name, mode, said| refused(&without_mode(name, mode), Fault::Input, said);
    refuse("tcs-read-back", ExecutionMode::OutputVertices, "how many vertices a patch is given");
    refuse("tes-triangles", ExecutionMode::Triangles, "what a patch is divided into");
    refuse("gs-streams", ExecutionMode::InputPoints, "which primitives it gets and makes");
    let many = edited("graphics/gs-streams", |insts| {
        for i in insts.iter_mut().filter(|i| is(i, Op::ExecutionMode)) {
            if i[2] == ExecutionMode::OutputVertices as u32 {
                i[3] = 1025;
            }
        }
    });
    refused(&many, Fault::Input, "1024 vertices at most");
    let shaded = whole("tes-triangles").stage.unwrap();
    assert_eq!(shaded.stage, Stage::TessEval);
    assert!(!shaded.tess.ccw && shaded.tess.domain.is_some() && shaded.tess.spacing.is_some());
}

#[test]
fn options_say_what_the_other_tessellation_stage_declares() {
    let tess = TessInfo { domain: Some(Domain::Quads), ccw: true, ..TessInfo::default() };
    let options =
        Options { stage: StageOptions { tess: Some(tess), ..StageOptions::default() }, ..Options::default() };
    let data = without_mode("tes-triangles", ExecutionMode::Triangles);
    let stage = compile_with(&data, None, options.clone()).unwrap().stage.unwrap();
    assert_eq!((stage.tess.domain, stage.tess.ccw), (Some(Domain::Quads), true));
    // What the module says itself counts.
    let whole = bytes(&module("graphics/tes-triangles"));
    let stage = compile_with(&whole, None, options).unwrap().stage.unwrap();
    assert_eq!((stage.tess.domain, stage.tess.ccw), (Some(Domain::Triangles), false));
}

#[test]
fn operations_belong_to_their_stage() {
    let emit = edited("graphics/vs-ids-gl", |insts| {
        let n = position(insts, Op::Return);
        insts.insert(n, inst(Op::EmitVertex, &[]));
    });
    refused(&emit, Fault::Input, "a vertex to emit does not exist in a vert shader");
    let kill = edited("graphics/vs-ids-gl", |insts| {
        let n = position(insts, Op::Return);
        insts[n] = inst(Op::Kill, &[]);
    });
    refused(&kill, Fault::Input, "OpKill does not exist in a vert shader");
    let stream = edited("graphics/gs-streams", |insts| {
        for i in insts.iter_mut().filter(|i| is(i, Op::ExecutionMode)) {
            if i[2] == ExecutionMode::OutputPoints as u32 {
                i[2] = ExecutionMode::OutputLineStrip as u32;
            }
        }
    });
    refused(&stream, Fault::Input, "those of points only");
}

#[test]
fn samples_have_the_operands_of_their_level() {
    let with = |op: Op, operands: &'static [u32]| {
        edited("graphics/frag-separate-image-sampler", move |insts| {
            let n = position(insts, op);
            let float = insts[position(insts, Op::ImageSampleExplicitLod)][6];
            insts[n].truncate(5);
            insts[n].extend(operands);
            if operands.len() == 1 && operands[0] < 0x8000 {
                insts[n].push(float);
            }
        })
    };
    let wrong = "the operands for the level of detail are not those of the instruction";
    refused(&with(Op::ImageSampleImplicitLod, &[2]), Fault::Input, wrong);
    refused(&with(Op::ImageSampleExplicitLod, &[1]), Fault::Input, wrong);
    refused(&with(Op::ImageSampleExplicitLod, &[]), Fault::Input, wrong);
    refused(&with(Op::ImageSampleImplicitLod, &[0x40]), Fault::Input, "no operands Sample");
    refused(&with(Op::ImageSampleImplicitLod, &[8]), Fault::Input, "does not consist of integers");
    refused(&with(Op::ImageSampleImplicitLod, &[0x8000]), Fault::Unsupported, "image operand 0x8000");
}

#[test]
fn image_types_are_what_accesses_need() {
    let image = |name: &'static str, at: usize, value: u32| {
        edited(name, move |insts| {
            let n = position(insts, Op::TypeImage);
            insts[n][at] = value;
        })
    };
    let separate = "graphics/frag-separate-image-sampler";
    refused(&image(separate, 7, 16), Fault::Input, "an image is sampled (1), or not (2)");
    refused(&image(separate, 7, 2), Fault::Input, "a storage image is not sampled");
    refused(&image(separate, 3, 6), Fault::Unsupported, "an input attachment (SubpassData)");
    refused(&image(separate, 6, 1), Fault::Input, "fetched from, not sampled");
    refused(&image(separate, 3, 5), Fault::Input, "fetched from, not sampled");
    refused(
        &image("graphics/fs-image-discard", 8, 0),
        Fault::Unsupported,
        "on an image of the format Unknown",
    );
    refused(&image("graphics/fs-image-discard", 8, 40), Fault::Unsupported, "the image format R64ui");
}

#[test]
fn an_image_without_a_format_is_not_loaded_from_on_gf100() {
    let data = edited("gl.image_fmts_0.V", |insts| {
        insts.iter_mut().filter(|i| is(i, Op::TypeImage)).for_each(|i| i[8] = 0);
    });
    let text = listing(&data).unwrap();
    let compile = |chip| Compiler::new(chip).compile(&Source::spirv(&text));
    let e = compile(Chip::Gf100).map(|_| ()).unwrap_err();
    assert!(e.to_string().contains("whose format is not declared, on gf100"), "{e}");
    assert!(compile(Chip::Gk104).is_ok());
}

#[test]
fn textures_and_images_have_numbers_within_the_limits() {
    let far = |name, by| decorated(name, Decoration::Binding, move |b| b + by);
    refused(
        &far("frag-separate-image-sampler", 31),
        Fault::Unsupported,
        "has the number 32, and 32 is the limit",
    );
    refused(&far("fs-image-discard", 7), Fault::Unsupported, "has the number 8, and 8 is the limit");
}

#[test]
fn members_of_blocks_that_nobody_names_are_no_outputs() {
    // glslang declares point size, clip and cull distances beside the position.
    let stage = whole("vs-ids-gl").stage.unwrap();
    let outputs: Vec<Attribute> = stage.outputs.iter().map(|o| o.what).collect();
    let mut wanted = [Semantic::Generic(3), Semantic::Position].map(Attribute::Semantic);
    if outputs[0] != wanted[0] {
        wanted.reverse();
    }
    assert_eq!(outputs, wanted);
    assert_eq!((stage.clip_enable, stage.cull_enable), (0, 0));
    let stage = whole("vs-output-read-back").stage.unwrap();
    assert_eq!((stage.clip_enable, stage.cull_enable), (0b111, 0b11000));
}

#[test]
fn structures_of_nothing_are_no_endless_input() {
    let data = edited("graphics/fs-dual-source", |insts| {
        let n = position(insts, Op::TypePointer);
        // Each structure has two members of the one before.
        let mut types = vec![inst(Op::TypeStruct, &[2000])];
        types.extend((0..40).map(|i| inst(Op::TypeStruct, &[2001 + i, 2000 + i, 2000 + i])));
        types.push(inst(Op::TypePointer, &[3000, 1, 2040]));
        types.push(inst(Op::Variable, &[3000, 3001, 1]));
        insts.splice(n..n, types);
        let entry = position(insts, Op::EntryPoint);
        insts[entry].push(3001);
    });
    refused(&raised(data), Fault::Input, "larger than what a stage can take or give");
}
