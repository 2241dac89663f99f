//! Listings that NVIDIA's tools print, back to words: `cuobjdump -sass` and `nvdisasm -hex`.
//!
//! ```text
//!         code for sm_35
//!                 Function : copy
//!                                                                           /* 0x08a0ac80a0a08cc0 */
//!         /*0008*/                   MOV R1, c[0x0][0x44];                  /* 0x64c03c00089c0006 */
//! ```
//!
//! Only the words at the ends of lines count, and where a kernel begins.

use super::Assembly;
use crate::cubin::Kernel;
use nvir_base::Chip;

/// The word in a comment that ends a line: 16 hexadecimal digits.
fn word(line: &str) -> Option<u64> {
    let inner = line.trim_end().strip_suffix("*/")?;
    let digits = inner.rsplit_once("/*")?.1.trim().strip_prefix("0x")?;
    let plain = digits.len() == 16 && digits.bytes().all(|c| c.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// The kernel that begins in a line.
fn kernel(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(name) = line.strip_prefix("Function : ") {
        return Some(name.trim());
    }
    let section = line.strip_prefix(".section")?.trim_start().strip_prefix(".text.")?;
    Some(section.split(',').next().unwrap_or(section).trim())
}

/// The chip that a line says.
fn chip(line: &str) -> Option<Chip> {
    let digits = |after: &str| -> String { after.chars().take_while(char::is_ascii_digit).collect() };
    if let Some((_, sm)) = line.split_once("code for sm_") {
        return format!("sm_{}", digits(sm)).parse().ok();
    }
    let (_, sm) = line.split_once("\"EF_CUDA_SM").or_else(|| line.split_once(" EF_CUDA_SM"))?;
    format!("sm_{}", digits(sm)).parse().ok()
}

/// Whether a text is such a listing, by its first lines that say something.
pub fn is_dump(text: &str) -> bool {
    let ours = |l: &str| [".chip ", ".kernel ", ".sched "].iter().any(|d| l.contains(d));
    !text.lines().any(ours) && text.lines().any(|l| word(l).is_some())
}

/// The kernels of such a listing. `chip` and `name` hold where the text does not say them; what is
/// no line with a word is passed over.
pub fn read(text: &str, chip_if_unknown: Chip, name: &str) -> Assembly {
    let mut all = Assembly { chip: chip_if_unknown, kernels: Vec::new() };
    for line in text.lines() {
        if let Some(found) = chip(line) {
            all.chip = found;
        }
        if let Some(name) = kernel(line) {
            all.kernels.push(Kernel { name: name.to_string(), ..Kernel::default() });
        }
        let Some(word) = word(line) else { continue };
        if all.kernels.is_empty() {
            all.kernels.push(Kernel { name: name.to_string(), ..Kernel::default() });
        }
        if let Some(k) = all.kernels.last_mut() {
            k.code.push(word);
        }
    }
    all.kernels.retain(|k| !k.code.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_their_words_are_found_in_what_both_tools_print() {
        let cuobjdump = "\tcode for sm_35\n\t\tFunction : one\n\t.headerflags    @\"EF_CUDA_SM35\"\n   /* 0x08a0ac80a0a08cc0 */
        /*0008*/      MOV R1, c[0x0][0x44];    /* 0x64c03c00089c0006 */\n\t\t.......\n\t\tFunction : two\n
                    /* 0x08000000000000bc */\n   /*0008*/   EXIT;  /* 0x18000000001c003c */\n";
        let a = read(cuobjdump, Chip::Gk104, "unnamed");
        let found: Vec<(&str, &[u64])> = a.kernels.iter().map(|k| (k.name.as_str(), &k.code[..])).collect();
        assert_eq!(a.chip, Chip::Gk110);
        let one: &[u64] = &[0x08a0ac80a0a08cc0, 0x64c03c00089c0006];
        assert_eq!(found, [("one", one), ("two", &[0x08000000000000bc, 0x18000000001c003c])]);
        assert!(is_dump(cuobjdump));

        let nvdisasm = "\t.headerflags\t@\"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_SM30 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM30)\"
\t.section\t.nv.info,\"\",@\"SHT_CUDA_INFO\"\n        /*0000*/ \t.byte\t0x04, 0x2f
\t.section\t.text.k,\"ax\",@progbits\n.text.k:\n   /* 0x2202e282c282c287 */
        /*0008*/         CAL `($k$mid);           /* 0x2800400110005de4 */\n";
        let a = read(nvdisasm, Chip::Gk110, "unnamed");
        assert_eq!((a.chip, a.kernels[0].name.as_str(), a.kernels[0].code.len()), (Chip::Gk104, "k", 2));

        let bare = "        /*0008*/                   EXIT; /* 0x18000000001c003c */\n";
        assert_eq!(read(bare, Chip::Gk110, "unnamed").kernels[0].name, "unnamed");
        assert!(!is_dump(".chip gk110\n/*0008*/ EXIT; /* 0x18000000001c003c */\n"));
        assert!(!is_dump("0x18000000001c003c\n"));
    }
}
