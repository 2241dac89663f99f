//! Deep nesting and long chains: eight times as much takes about eight times as long, whatever the shape, and no depth
//! exhausts the stack of the host.

use nvir::Chip;
use nvir::{Compiler, Language, OptLevel, Options, Source};
use std::time::{Duration, Instant};

const ADD: &str = "UADD TEMP[0].x, TEMP[0].xxxx, SV[0].xxxx\n";
const IF: &str = "UIF TEMP[0].xxxx\n";

fn tgsi(code: &str) -> String {
    format!(
        "COMP\nPROPERTY CS_FIXED_BLOCK_WIDTH 32\nDCL SV[0], THREAD_ID\nDCL BUFFER[0]\nDCL TEMP[0..3]\n\
         IMM[0] UINT32 {{0, 1, 2, 4}}\nMOV TEMP[0].x, SV[0].xxxx\n{code}"
    )
}

fn kernel(body: &str) -> String {
    tgsi(&format!("{body}STORE BUFFER[0].x, IMM[0].xxxx, TEMP[0].xxxx\nEND\n"))
}

/// `open` as often as nested, something, `close` as often.
fn nest(n: usize, open: &str, close: &str) -> String {
    kernel(&format!("{}{ADD}{}", open.repeat(n), close.repeat(n)))
}

/// Subroutines each of which calls the next.
fn chain(n: usize) -> String {
    // Instructions are numbered from the first MOV on; each subroutine has five.
    let mut code = String::from("CAL :4\nSTORE BUFFER[0].x, IMM[0].xxxx, TEMP[0].xxxx\nEND\n");
    for k in 0..n {
        let call = if k + 1 < n { format!("CAL :{}\n", 4 + 5 * (k + 1)) } else { ADD.to_string() };
        code += &format!("BGNSUB\n{ADD}{call}RET\nENDSUB\n");
    }
    tgsi(&code)
}

/// One subroutine that is called from many places.
fn called_often(n: usize) -> String {
    let call = format!("CAL :{}\n", n + 3);
    let body =
        "UMAD TEMP[0].x, TEMP[0].xxxx, SV[0].xxxx, TEMP[0].xxxx\nXOR TEMP[0].x, TEMP[0].xxxx, SV[0].xxxx\n";
    tgsi(&format!(
        "{}STORE BUFFER[0].x, IMM[0].xxxx, TEMP[0].xxxx\nEND\nBGNSUB\n{}RET\nENDSUB\n",
        call.repeat(n),
        body.repeat(25)
    ))
}

/// Loops, each with what it keeps alive in the ones inside: `open` and `close` are given its number, once more than the
/// loops there are.
fn keeping(n: usize, open: fn(usize, usize) -> String, close: fn(usize, usize) -> String) -> String {
    let mut body: String = (0..n).map(|k| open(k, n)).collect();
    body += "UADD TEMP[0].x, TEMP[0].xxxx, SV[0].xxxx\n";
    body.extend((0..n).rev().map(|k| close(k, n)));
    kernel(&body).replace("TEMP[0..3]", &format!("TEMP[0..{}]", n + 1))
}

/// The beginning of a loop that counts to 1 in the register after its number; what follows comes before its end.
fn counting(k: usize, n: usize) -> String {
    let (c, p) = (k + 1, n + 1);
    format!(
        "MOV TEMP[{c}].x, IMM[0].xxxx\nBGNLOOP\nUSGE TEMP[{p}].x, TEMP[{c}].xxxx, IMM[0].yyyy\n\
         UIF TEMP[{p}].xxxx\nBRK\nENDIF\n"
    )
}

fn counted(k: usize, _: usize) -> String {
    format!("UADD TEMP[{0}].x, TEMP[{0}].xxxx, IMM[0].yyyy\nENDLOOP\n", k + 1)
}

/// Counted loops of which the innermost reads all counters.
fn all_counters_inside(n: usize) -> String {
    let read = |k: usize| format!("UADD TEMP[0].x, TEMP[0].xxxx, TEMP[{k}].xxxx\n");
    keeping(n, counting, counted).replace(ADD, &(1..=n).map(read).collect::<String>())
}

/// Values that are read after the loop, or changed in it, beside the counter.
fn values(k: usize, n: usize) -> String {
    format!("UADD TEMP[{}].yzw, TEMP[0].xxxx, IMM[0].xyzw\n{}", k + 1, counting(k, n))
}

fn values_read(k: usize, n: usize) -> String {
    let c = k + 1;
    format!(
        "UMAD TEMP[{c}].yz, TEMP[{c}].yzww, TEMP[0].xxxx, TEMP[{c}].wwww\n{}\
         XOR TEMP[0].x, TEMP[0].xxxx, TEMP[{c}].yyyy\nUADD TEMP[0].x, TEMP[0].xxxx, TEMP[{c}].zxxx\n",
        counted(k, n)
    )
}

/// An `if` around what is inside.
fn counting_if(k: usize, n: usize) -> String {
    format!(
        "{}UIF TEMP[0].xxxx\n{ADD}ELSE\nXOR TEMP[0].x, TEMP[0].xxxx, TEMP[{}].xxxx\n",
        counting(k, n),
        k + 1
    )
}

/// Counted loops with a call inside.
fn call_inside(n: usize) -> String {
    let body = keeping(n, counting, counted).replace(ADD, "CAL :@\n");
    // Instructions are numbered from the first MOV on.
    let sub = body[body.find("MOV").unwrap_or(0)..].lines().count();
    format!("{}BGNSUB\n{ADD}RET\nENDSUB\n", body.replace('@', &sub.to_string()))
}

/// Many values that live through many constructs one after the other.
fn values_through(n: usize, construct: &str) -> String {
    let load: String = (1..=n).map(|k| format!("LOAD TEMP[{k}].x, BUFFER[0], TEMP[0].xxxx\n{ADD}")).collect();
    let read: String = (1..=n).map(|k| format!("UADD TEMP[0].x, TEMP[0].xxxx, TEMP[{k}].xxxx\n")).collect();
    kernel(&format!("{load}{}{read}", construct.repeat(n)))
        .replace("TEMP[0..3]", &format!("TEMP[0..{}]", n + 1))
}

/// NIR with a register; `open` and `close` are repeated.
fn nir(n: usize, open: &str, close: &str) -> String {
    format!(
        "impl main {{\n\tdecl_reg vec1 32 r0\n\tvec1 32 ssa_0 = load_const (0x00000400 = 0.000000)\n\
         \tvec1 32 ssa_2 = load_const (0x00000000 = 0.000000)\n\
         \tvec3 32 ssa_3 = intrinsic load_local_invocation_id () ()\n\tvec1 32 ssa_1 = mov ssa_3.x\n\tr0 = mov ssa_1\n\
         {}\tr0 = iadd r0, ssa_1\n{}\
         \tintrinsic store_ssbo (r0, ssa_2, ssa_2) (wrmask=x /*1*/, access=0, align_mul=4, align_offset=0)\n}}\n",
        open.repeat(n),
        close.repeat(n)
    )
}

/// NIR loops, each with a register that counts; the innermost reads them all.
fn nir_counters(n: usize) -> String {
    let each = |line: fn(usize) -> String| (1..=n).map(line).collect::<String>();
    let decls = each(|k| format!("\tdecl_reg vec1 32 r{k}\n"));
    let opened = each(|k| format!("\tr{k} = mov ssa_2\n\tloop {{\n\tif r{k} {{\n\tbreak\n\t}}\n"));
    let read = each(|k| format!("\tr0 = iadd r0, r{k}\n"));
    let closed = (1..=n).rev().map(|k| format!("\tr{k} = iadd r{k}, ssa_0\n\t}}\n")).collect::<String>();
    nir(1, "@", "")
        .replace("\tdecl_reg vec1 32 r0\n", &format!("\tdecl_reg vec1 32 r0\n{decls}"))
        .replace('@', &format!("{opened}{read}{closed}"))
}

type Shape = fn(usize) -> String;

const TGSI: &[(&str, Shape)] = &[
    ("ifs", |n| nest(n, IF, "ENDIF\n")),
    ("ifs with code", |n| nest(n, &format!("{IF}{ADD}"), &format!("{ADD}ENDIF\n"))),
    ("if ladders", |n| nest(n, &format!("{IF}{ADD}ELSE\n"), "ENDIF\n")),
    ("loops", |n| nest(n, &format!("BGNLOOP\n{ADD}{IF}BRK\nENDIF\n"), &format!("ENDLOOP\n{ADD}"))),
    ("loops in ifs in loops", |n| {
        nest(
            n,
            &format!("BGNLOOP\n{ADD}{IF}BRK\nENDIF\n{IF}{ADD}ELSE\n{ADD}"),
            &format!("ENDIF\nENDLOOP\n{ADD}"),
        )
    }),
    ("ifs one after the other", |n| {
        kernel(&format!("{IF}{ADD}ELSE\nSTORE BUFFER[0].x, TEMP[0].xxxx, SV[0].xxxx\nENDIF\n").repeat(n))
    }),
    ("arms that leave", |n| {
        nest(n, &format!("BGNLOOP\n{IF}{ADD}BRK\nELSE\n{ADD}"), "CONT\nENDIF\nENDLOOP\n")
    }),
    ("endless loops", |n| nest(n, &format!("BGNLOOP\n{IF}BRK\nENDIF\n"), "BGNLOOP\nENDLOOP\nENDLOOP\n")),
    ("calls in a chain", chain),
    ("a subroutine called often", called_often),
    ("counted loops", |n| keeping(n, counting, counted)),
    ("all counters in the innermost loop", all_counters_inside),
    ("loops that keep values", |n| keeping(n, values, values_read)),
    ("ifs in counted loops", |n| keeping(n, counting_if, |k, n| format!("ENDIF\n{}", counted(k, n)))),
    ("a call in counted loops", call_inside),
    ("values that live through ifs", |n| values_through(n, &format!("{IF}{ADD}ENDIF\n"))),
    ("values that live through loops", |n| {
        values_through(n, &format!("BGNLOOP\n{IF}BRK\nENDIF\n{ADD}ENDLOOP\n"))
    }),
];

const NIR: &[(&str, Shape)] = &[
    ("NIR ifs", |n| nir(n, "\tif r0 {\n\tr0 = iadd r0, ssa_0\n", "\t}\n")),
    ("NIR ladders", |n| nir(n, "\tif r0 {\n\tr0 = iadd r0, ssa_0\n\t} else {\n", "\t}\n")),
    ("NIR loops", |n| nir(n, "\tloop {\n\tif r0 {\n\tbreak\n\t}\n\tr0 = iadd r0, ssa_0\n", "\t}\n")),
    ("NIR counters in the innermost loop", nir_counters),
];

fn compiled(language: Language, text: &str, chip: Chip, opt_level: OptLevel) {
    let compiler = Compiler::new(chip).with_options(Options::at(opt_level));
    if let Err(e) = compiler.compile(&Source { language, text, entry: None, name: "deep" }) {
        panic!("{e}");
    }
}

/// Time that this thread has had on a processor, where the system tells; otherwise what the clock says.
fn now(start: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|s| s.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// What one compile takes: the shorter of two means over 100 ms, since systems count a thread's time in ticks of some
/// milliseconds, and a program of 300 constructs takes few of them.
fn time(language: Language, text: &str, chip: Chip, opt_level: OptLevel) -> Duration {
    let mean = || {
        let start = Instant::now();
        let before = now(start);
        let mut runs = 0;
        loop {
            compiled(language, text, chip, opt_level);
            runs += 1;
            let spent = now(start).saturating_sub(before);
            if spent > Duration::from_millis(100) {
                return spent / runs;
            }
        }
    };
    mean().min(mean())
}

#[test]
fn eight_times_as_deep_takes_about_eight_times_as_long() {
    let shapes = TGSI.iter().map(|s| (Language::Tgsi, s)).chain(NIR.iter().map(|s| (Language::Nir, s)));
    for (n, (language, (name, shape))) in shapes.enumerate() {
        let chip = Chip::ALL[n % Chip::ALL.len()];
        let (small, large) = (shape(300), shape(2400));
        for level in [OptLevel::O0, OptLevel::O3] {
            let short = time(language, &small, chip, level).max(Duration::from_millis(1));
            let long = time(language, &large, chip, level);
            let ratio = long.as_secs_f64() / short.as_secs_f64();
            println!("{name} -O{level}: {short:?} {long:?} {ratio:.1}");
            assert!(long.as_secs() < 10, "{name}, {chip} -O{level}: {long:?} for 2400");
            // Caches cost up to 18; what is quadratic takes 64.
            assert!(ratio < 32.0, "{name}, {chip} -O{level}: {short:?} for 300, {long:?} for 2400");
        }
    }
}

#[test]
fn ten_thousand_nested_constructs_do_not_exhaust_the_stack() {
    for (name, shape) in TGSI {
        println!("{name}");
        compiled(Language::Tgsi, &shape(10_000), Chip::Gk104, OptLevel::O0);
    }
    for (name, shape) in NIR {
        println!("{name}");
        compiled(Language::Nir, &shape(10_000), Chip::Gk110, OptLevel::O0);
    }
    for (name, shape) in [TGSI[0], TGSI[2], TGSI[8], TGSI[10], TGSI[12], TGSI[14], TGSI[16]] {
        println!("{name}, optimised");
        compiled(Language::Tgsi, &shape(10_000), Chip::Gf100, OptLevel::O3);
    }
}
