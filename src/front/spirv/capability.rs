//! What modules may ask for. All that is asked for and not there is told at once.

use super::read::Words;
use crate::diag::{Diagnostic, Diagnostics};
use spirv::{Capability as C, Op};

/// Capabilities that are there, and those that only permit what is refused where it occurs.
const SUPPORTED: &[C] = &[
    C::Matrix,
    C::Shader,
    C::Addresses,
    C::Linkage,
    C::Kernel,
    C::Vector16,
    C::Float16Buffer,
    C::Float16,
    C::Float64,
    C::Int64,
    C::Int64Atomics,
    C::Int16,
    C::Int8,
    C::Groups,
    C::GenericPointer,
    C::AtomicStorage,
    C::AtomicStorageOps,
    C::UniformBufferArrayDynamicIndexing,
    C::StorageBufferArrayDynamicIndexing,
    C::SubgroupBallotKHR,
    C::SubgroupVoteKHR,
    C::DrawParameters,
    C::StorageBuffer16BitAccess,
    C::UniformAndStorageBuffer16BitAccess,
    C::StoragePushConstant16,
    C::StorageBuffer8BitAccess,
    C::UniformAndStorageBuffer8BitAccess,
    C::StoragePushConstant8,
    C::VariablePointersStorageBuffer,
    C::VariablePointers,
    C::GroupNonUniform,
    C::GroupNonUniformVote,
    C::GroupNonUniformArithmetic,
    C::GroupNonUniformBallot,
    C::GroupNonUniformShuffle,
    C::GroupNonUniformShuffleRelative,
    C::GroupNonUniformClustered,
    C::GroupNonUniformQuad,
    C::ShaderNonUniform,
    C::RuntimeDescriptorArray,
    C::UniformBufferArrayNonUniformIndexing,
    C::StorageBufferArrayNonUniformIndexing,
    C::PhysicalStorageBufferAddresses,
    C::VulkanMemoryModel,
    C::VulkanMemoryModelDeviceScope,
    C::DenormFlushToZero,
    C::DenormPreserve,
    C::SignedZeroInfNanPreserve,
    C::RoundingModeRTE,
    C::DotProduct,
    C::DotProductInput4x8Bit,
    C::DotProductInput4x8BitPacked,
    C::DotProductInputAll,
    C::ExpectAssumeKHR,
    C::OptNoneEXT,
    C::IntegerFunctions2INTEL,
    // Of images; those of kernels are refused where they are used.
    C::ImageBasic,
    C::ImageReadWrite,
    C::LiteralSampler,
    C::ImageQuery,
    C::StorageImageExtendedFormats,
    C::StorageImageReadWithoutFormat,
    C::StorageImageWriteWithoutFormat,
    C::SampledImageArrayDynamicIndexing,
    C::StorageImageArrayDynamicIndexing,
    C::SampledImageArrayNonUniformIndexing,
    C::StorageImageArrayNonUniformIndexing,
    C::Image1D,
    C::Sampled1D,
    C::ImageBuffer,
    C::SampledBuffer,
    C::ImageRect,
    C::SampledRect,
    C::ImageCubeArray,
    C::SampledCubeArray,
    C::ImageMSArray,
    C::StorageImageMultisample,
    C::ImageGatherExtended,
    C::DerivativeControl,
    C::UniformTexelBufferArrayDynamicIndexing,
    C::StorageTexelBufferArrayDynamicIndexing,
    C::UniformTexelBufferArrayNonUniformIndexing,
    C::StorageTexelBufferArrayNonUniformIndexing,
    C::InputAttachmentArrayDynamicIndexing,
    C::InputAttachmentArrayNonUniformIndexing,
    // Of graphics stages. What the chips lack is refused where it is used: stencil values.
    C::GeometryStreams,
    C::ShaderLayer,
    C::ShaderViewportIndex,
    C::ShaderViewportIndexLayerEXT,
    C::SampleMaskPostDepthCoverage,
    C::StencilExportEXT,
    C::MultiView,
    C::Geometry,
    C::Tessellation,
    C::ClipDistance,
    C::CullDistance,
    C::SampleRateShading,
    C::InterpolationFunction,
    C::MultiViewport,
    C::TransformFeedback,
    C::MinLod,
    C::InputAttachment,
    C::DemoteToHelperInvocation,
    C::TessellationPointSize,
    C::GeometryPointSize,
];

/// Finds the capabilities and instructions that are not there.
pub(super) fn check(code: &Words, diags: &mut Diagnostics) {
    let mut missing: Vec<String> = Vec::new();
    let mut first = None;
    for (n, inst) in code.insts.iter().enumerate() {
        if inst.op != Op::Capability {
            continue;
        }
        let number = code.operands(n)[0];
        let name = match C::from_u32(number) {
            Some(c) if SUPPORTED.contains(&c) => continue,
            Some(c) => format!("{c:?}"),
            None => format!("number {number}"),
        };
        first.get_or_insert(inst.span);
        if !missing.contains(&name) {
            missing.push(name);
        }
    }
    if let Some(span) = first {
        let what = if missing.len() == 1 { "capability" } else { "capabilities" };
        let message = format!("{what} not supported: {}", missing.join(", "));
        diags.push(Diagnostic::unsupported(message).at(span, ""));
        return;
    }
    for d in &code.unknown {
        diags.push(d.clone());
    }
}
