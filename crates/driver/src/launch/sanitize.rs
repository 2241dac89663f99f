//! Kernels that check themselves: what their launches get, and what they report (`nvir::driver::sanitizer`).

use super::Launch;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::memory::Buffer;
use nvir::Shader;
use nvir::driver::sanitizer::{Facts, Finding, Words};
use std::sync::Arc;

/// A launch whose report is to be read.
#[derive(Debug)]
pub(crate) struct Report {
    shader: Arc<Shader>,
    memory: Buffer,
    /// Storage buffers: number and bytes.
    buffers: Vec<(u32, u64)>,
    shared_bytes: u32,
    added: Vec<(u32, u32)>,
}

impl Context {
    /// Memory for what the kernel of a launch needs to check itself, if it does.
    pub(super) fn sanitize(&mut self, launch: &Launch<'_>, grid: [u32; 3]) -> Result<Option<Words>> {
        let shader = launch.kernel.shader.clone();
        let Some(sanitizer) = &shader.sanitizer else { return Ok(None) };
        if matches!(launch.grid, super::Grid::Indirect(_)) {
            let why = "a kernel that checks itself needs a grid that is known before it is launched";
            return Err(Error::Unsupported(why.into()));
        }
        let parts = launch.buffers.iter().map(|(_, s)| (s.address(), s.bytes));
        let ranges: Vec<(u64, u64)> = match &launch.reached_parts {
            Some(all) => all.iter().map(|s| (s.address(), s.bytes)).chain(parts).collect(),
            None => launch.reached.iter().map(|b| (b.address(), b.bytes())).chain(parts).collect(),
        };
        let mut made: Vec<Buffer> = Vec::new();
        let mut failed = None;
        let mut place = |bytes: &[u8], size: u64| -> std::result::Result<u64, String> {
            let mut new = || -> Result<Buffer> {
                let buffer = self.buffer(size)?;
                if !bytes.is_empty() {
                    self.write(&buffer.slice(0, bytes.len() as u64), bytes)?;
                }
                Ok(buffer)
            };
            match new() {
                Ok(buffer) => {
                    let address = buffer.address();
                    made.push(buffer);
                    Ok(address)
                }
                Err(e) => {
                    let why = e.to_string();
                    failed = Some(e);
                    Err(why)
                }
            }
        };
        let (added, more) = (&launch.shared_variables, launch.shared_bytes);
        let words = sanitizer.provide(grid, more, added, &ranges, &mut place);
        let words = words.map_err(|why| failed.unwrap_or(Error::Invalid(why)))?;
        for buffer in &made {
            self.using(&buffer.shared);
        }
        let memory = made.iter().find(|b| b.address() == words.report).cloned();
        self.reports.extend(memory.map(|memory| Report {
            shader: shader.clone(),
            memory,
            buffers: launch.buffers.iter().map(|(n, s)| (*n, s.bytes)).collect(),
            shared_bytes: sanitizer.shared_bytes + more,
            added: added.clone(),
        }));
        Ok(Some(words))
    }

    /// What kernels that check themselves have found since the last call, after everything that was queued: launch by
    /// launch. Reports take memory until they are asked for.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn findings(&mut self) -> Result<Vec<Finding>> {
        let mut all = Vec::new();
        for report in std::mem::take(&mut self.reports) {
            let Some(sanitizer) = &report.shader.sanitizer else { continue };
            let facts = Facts {
                buffers: &report.buffers,
                shared_bytes: report.shared_bytes,
                added: &report.added,
                private_bytes: report.shader.local_bytes,
            };
            all.extend(sanitizer.findings(&self.read(&report.memory.whole())?, &facts));
        }
        Ok(all)
    }
}
