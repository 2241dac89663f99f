//! Programs of one block that read words of 64 bits from storage buffer 0, and leave words in buffer 1 that are known.

use crate::config::Config;
use nvir_fixture::run::Loaded;
use nvir_fixture::{Fixture, Outcome};
use std::fmt::Write;
use std::path::Path;

/// The launch: inputs of each thread one behind the other, so many words of results. A kernel is given the buffers as
/// arguments, and a pointer to so many bytes of shared memory.
pub(crate) fn fixture(
    source: &str,
    inputs: &[u64],
    threads: usize,
    results: usize,
    shared: Option<usize>,
) -> Fixture {
    let bound = match shared {
        None => "\"ssbo\":{\"0\":\"in\",\"1\":\"out\"}".to_string(),
        Some(bytes) => {
            format!("\"args\":[{{\"buffer\":\"in\"}},{{\"buffer\":\"out\"}},{{\"shared\":{bytes}}}]")
        }
    };
    let words = inputs.iter().flat_map(|x| [*x as u32, (x >> 32) as u32]);
    let list = words.map(|w| w.to_string()).collect::<Vec<_>>().join(",");
    let mut json = String::new();
    let _ = write!(
        json,
        "{{\"source\":\"{source}\",\"tests\":[{{\"name\":\"case\",\"grid\":[1,1,1],\"block\":[{threads},1,1],\
         {bound},\"buffers\":{{\"in\":{{\"type\":\"u32\",\"len\":{},\"init\":[{list}]}},\
         \"out\":{{\"type\":\"u32\",\"len\":{}}}}}}}]}}",
        2 * inputs.len(),
        2 * results
    );
    Fixture::parse(Path::new("case.json"), &json).expect("a fixture")
}

/// Why the compiled program does not leave what is wanted, of which each thread leaves so many words.
fn difference(
    fixture: &Fixture,
    source: &[u8],
    want: &[Option<u64>],
    per: usize,
    config: &Config,
) -> Option<String> {
    let loaded = match Loaded::new(Path::new("case.json"), fixture.clone(), source.to_vec()) {
        Ok(loaded) => loaded,
        Err(e) => return Some(e.to_string()),
    };
    let mut left = Vec::new();
    let reports = loaded.run(config.chip, None, &config.settings, &mut None, |_, env| {
        left = env.read(&env.buffers["out"]).expect("it is mapped");
    });
    if let Some(Outcome::Failed(why)) = reports.into_iter().next().map(|r| r.outcome) {
        return Some(why);
    }
    want.iter().zip(left.chunks_exact(8)).enumerate().find_map(|(n, (want, got))| {
        let got = u64::from_le_bytes(got.try_into().expect("eight bytes"));
        let want = (*want)?;
        (got != want)
            .then(|| format!("thread {}, result {}: {got:#x}, the host says {want:#x}", n / per, n % per))
    })
}

/// Compiles and runs by each configuration; the first difference, with the pass that makes it.
pub(crate) fn run(
    fixture: &Fixture,
    source: &[u8],
    want: &[Option<u64>],
    per: usize,
    configs: &[Config],
) -> Result<(), String> {
    for config in configs {
        let Some(why) = difference(fixture, source, want, per, config) else { continue };
        let pass = (0..400).find(|&n| {
            let mut limited = config.clone();
            limited.settings.options.debug.bisect_limit = Some(n);
            difference(fixture, source, want, per, &limited).is_some()
        });
        return Err(format!("{config}: {why}\nfirst wrong with --bisect-limit {pass:?}"));
    }
    Ok(())
}
