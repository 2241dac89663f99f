//! A client of OpenGL 4.3 that uploads, computes, copies and clears, and compares what it gets with what it computes
//! itself: `gl_client [ROW...]`; without rows: all of them. It knows nothing of the virtual GPU.

mod gl;
mod rows;

use std::process::ExitCode;

pub(crate) fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let rows = rows::ROWS;
    if let Some(unknown) = wanted.iter().find(|w| rows.iter().all(|(name, _)| name != w)) {
        let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
        eprintln!("no row `{unknown}`: {}", names.join(", "));
        return ExitCode::from(2);
    }
    let gl = match gl::Gl::open() {
        Ok(gl) => gl,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(3);
        }
    };
    println!("{}", gl.names().join(" | "));
    let mut failed = 0;
    for (name, row) in rows.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|w| w == name)) {
        match row(&gl).and_then(|()| gl.check()) {
            Ok(()) => println!("ok {name}"),
            Err(why) => {
                failed += 1;
                println!("FAILED {name}: {why}");
            }
        }
    }
    gl.finish();
    drop(gl);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
