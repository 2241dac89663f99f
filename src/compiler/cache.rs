//! The key of a shader in a disk cache.

use super::{Compiler, Language, Source};
use crate::driver::Abi;
use crate::options::{DebugOptions, FragmentInfo, GeometryInfo, Options, Sanitize, StageOptions, TessInfo};
use sha2::{Digest, Sha256};
use std::fmt;

/// Identifies the result of a compile. Displayed as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CacheKey(pub [u8; 32]);

impl fmt::Display for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A hash of everything that the result depends on. The structures are taken apart completely, so that a new field does
/// not build until it is considered here.
pub(super) fn key(compiler: &Compiler, source: &Source<'_>) -> CacheKey {
    let mut hash = Hash(Sha256::new());
    hash.text(env!("CARGO_PKG_VERSION"));
    // Of the sources that this compiler was built from (build.rs).
    hash.text(env!("NVIR_BUILD_ID"));
    let Compiler { chip, abi, graphics_abi, options } = compiler;
    hash.text(chip.name());
    hash.abi(abi);
    hash.abi(graphics_abi);
    hash.options(options);
    let Source { language, text, entry, name: _ } = source;
    hash.number(match language {
        Language::Tgsi => 0,
        Language::Nir => 1,
        Language::Ir => 2,
        Language::SpirV => 3,
    });
    hash.text(text);
    hash.maybe(entry.as_ref(), |h, e| h.text(e));
    CacheKey(hash.0.finalize().into())
}

struct Hash(Sha256);

impl Hash {
    fn number(&mut self, n: u64) {
        self.0.update(n.to_le_bytes());
    }

    /// With its length before it, so that neighbours cannot run into each other.
    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text);
    }

    fn maybe<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Hash, T)) {
        self.number(value.is_some().into());
        if let Some(value) = value {
            put(self, value);
        }
    }

    fn abi(&mut self, abi: &Abi) {
        let Abi {
            input_bank,
            input_offset,
            first_ubo_bank,
            bound_ubos,
            aux_bank,
            tex_handles,
            ms_info,
            grid_info,
            ubo_info,
            buf_info,
            su_info,
            bindless_info,
            draw_info,
            sample_positions,
            clip_planes,
            framebuffer,
            sanitizer,
            sizes_in_sregs,
        } = abi;
        for n in [input_bank, first_ubo_bank, bound_ubos, aux_bank] {
            self.number((*n).into());
        }
        let places =
            [input_offset, ms_info, grid_info, buf_info, su_info, draw_info, sample_positions, clip_planes];
        for n in places.into_iter().chain([framebuffer, sanitizer]) {
            self.number((*n).into());
        }
        for n in [tex_handles, ubo_info, bindless_info] {
            self.maybe(*n, |h, n| h.number(n.into()));
        }
        self.number((*sizes_in_sregs).into());
    }

    fn stage(&mut self, stage: &StageOptions) {
        let StageOptions {
            tess,
            geometry,
            fragment,
            distances,
            clip_planes,
            clip_vertex_read,
            flush_subnormals,
        } = stage;
        self.maybe(*tess, |h, t| {
            let TessInfo { vertices_out, domain, spacing, ccw, point_mode } = t;
            h.number(vertices_out.into());
            h.maybe(domain, |h, d| h.number(d as u64));
            h.maybe(spacing, |h, s| h.number(s as u64));
            [ccw, point_mode].into_iter().for_each(|flag| h.number(flag.into()));
        });
        self.maybe(*geometry, |h, g| {
            let GeometryInfo { input, output, vertices_out, vertices_in, invocations, streams } = g;
            [input, output, vertices_in, invocations, streams].into_iter().for_each(|n| h.number(n.into()));
            h.number(vertices_out.into());
        });
        self.maybe(*fragment, |h, f| {
            let FragmentInfo {
                early_fragment_tests,
                post_depth_coverage,
                uses_sample_shading,
                uses_discard,
                uses_demote,
                depth_layout,
                origin_upper_left,
                pixel_center_integer,
                needs_quad_helper_invocations,
            } = f;
            let flags = [
                early_fragment_tests,
                post_depth_coverage,
                uses_sample_shading,
                uses_discard,
                uses_demote,
                origin_upper_left,
                pixel_center_integer,
                needs_quad_helper_invocations,
            ];
            flags.into_iter().for_each(|flag| h.number(flag.into()));
            h.number(depth_layout.into());
        });
        self.maybe(*distances, |h, d| [d.clip, d.cull].into_iter().for_each(|n| h.number(n.into())));
        self.number((*clip_planes).into());
        self.number((*clip_vertex_read).into());
        self.number((*flush_subnormals).into());
    }

    fn options(&mut self, options: &Options) {
        let Options {
            opt_level,
            init_regs,
            max_gprs,
            threads,
            block_size,
            work_dim,
            pointer_align,
            private_bytes,
            spec_constants,
            stage,
            sanitize,
            debug,
        } = options;
        let Sanitize { shared, global, private, zones } = sanitize;
        [shared, global, private, zones].into_iter().for_each(|&flag| self.number(flag.into()));
        // What is only printed does not matter.
        let DebugOptions {
            passes,
            bisect_limit,
            verify_each: _,
            print_before: _,
            print_after: _,
            time_passes: _,
            remarks: _,
            through_memory,
            inject,
        } = debug;
        self.number(*opt_level as u64);
        self.number(*init_regs as u64);
        for n in [max_gprs, threads, work_dim, bisect_limit] {
            self.maybe(*n, |h, n| h.number(n.into()));
        }
        self.maybe(*block_size, |h, size| size.iter().for_each(|&n| h.number(n.into())));
        self.number((*pointer_align).into());
        self.number((*private_bytes).into());
        self.number((*through_memory).into());
        self.number(inject.map_or(0, |d| d as u64 + 1));
        self.number(spec_constants.len() as u64);
        spec_constants
            .iter()
            .for_each(|(&id, &value)| [id.into(), value].into_iter().for_each(|n| self.number(n)));
        self.stage(stage);
        self.maybe(passes.as_ref(), |h, passes| {
            h.number(passes.len() as u64);
            passes.iter().for_each(|p| h.text(p));
        });
    }
}
