//! NIR's ALU opcodes with their types, as `tests/data/nir/opcodes.tsv` lists them.

/// What an opcode reads or gives.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ty {
    /// `f`, `i`, `u` or `b`.
    pub base: char,
    /// 0 where any size is possible.
    pub bits: u32,
    /// 0 where it works component by component.
    pub comps: usize,
}

/// An opcode as NIR declares it.
#[derive(Clone, Debug)]
pub struct Opcode {
    /// Its name.
    pub name: String,
    /// What it gives.
    pub dest: Ty,
    /// What it reads.
    pub srcs: Vec<Ty>,
}

fn types(signature: &str) -> Vec<Ty> {
    let mut list: Vec<Ty> = Vec::new();
    let mut comps = false;
    for c in signature.chars() {
        match (c, list.last_mut()) {
            ('x', _) => comps = true,
            (c, Some(ty)) if c.is_ascii_digit() => {
                let digit = c as u32 - '0' as u32;
                if comps {
                    ty.comps = ty.comps * 10 + digit as usize;
                } else {
                    ty.bits = ty.bits * 10 + digit;
                }
            }
            (base, _) => {
                comps = false;
                list.push(Ty { base, bits: 0, comps: 0 });
            }
        }
    }
    list
}

/// All of them, in the order of their names.
pub fn opcodes() -> Vec<Opcode> {
    include_str!("../../../../tests/data/nir/opcodes.tsv")
        .lines()
        .filter(|l| !l.starts_with('#'))
        .map(|line| {
            let mut cells = line.split('\t');
            let mut cell = || cells.next().unwrap_or_else(|| panic!("three cells: {line}"));
            let (name, dest, srcs) = (cell().to_string(), types(cell())[0], types(cell()));
            Opcode { name, dest, srcs }
        })
        .collect()
}

/// Hardware of other vendors, and derivatives, which a compute shader has no quads for.
pub fn foreign(name: &str) -> bool {
    ["_amd", "_ir3", "_vc4", "_agx", "_r600", "_mix16"].iter().any(|s| name.ends_with(s))
        || name.starts_with("fdd")
}

/// Opcodes that work on whole vectors, or on one component in that notation.
pub fn is_horizontal(op: &Opcode) -> bool {
    op.dest.comps != 0 || op.srcs.iter().any(|t| t.comps != 0)
}

/// The bits that operands of open size may have.
pub fn sizes(op: &Opcode) -> Vec<u32> {
    let open = op.srcs.iter().chain([&op.dest]).find(|t| t.bits == 0);
    let Some(ty) = open else { return vec![0] };
    let name = op.name.as_str();
    let of_bits = [
        "mov", "inot", "iand", "ior", "ixor", "iadd", "isub", "imul", "imin", "imax", "umin", "umax", "ineg",
    ];
    let any_width = of_bits.contains(&name)
        || ["vec", "i2", "u2"].iter().any(|p| name.starts_with(p))
        || ["csel", "ieq", "ine", "ilt", "ige", "ult", "uge", "all_i", "any_i"]
            .iter()
            .any(|p| name.contains(p));
    match ty.base {
        'f' => vec![16, 32, 64],
        'b' => vec![1, 8, 16, 32],
        _ if name == "sad_u8x4" => vec![32],
        _ if name.contains("_u16") || name.contains("_i16") => vec![16, 32, 64],
        _ if any_width && !name.starts_with("icsel") => vec![1, 8, 16, 32, 64],
        _ => vec![8, 16, 32, 64],
    }
}
