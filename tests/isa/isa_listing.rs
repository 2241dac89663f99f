//! Listings and cubins: text to words and back.

use nvir::Chip;
use nvir::image::cubin::{self, Cubin};
use nvir::image::listing::{self, Options, assemble};
use nvir::isa::sched_word;
use pretty_assertions::assert_eq;

const LOOP: &str = "\
.kernel count
.param 0 0x0 8
        MOV R0, RZ;
again:  // a label
        IADD R0, R0, 0x1;
        ISETP.LT.AND P0, PT, R0, 0x10, PT;
    @P0 BRA again;
        BAR.SYNC 0x1;
        ST.E [R2], R0;
        EXIT;
";

#[test]
fn a_listing_assembles_to_the_words_that_it_is_printed_from() {
    for chip in Chip::ALL {
        let first = assemble(LOOP, chip, "k").expect("a listing");
        let text = listing::print(chip, &first.kernels, Options::default());
        let second = assemble(&text, chip, "k").expect("its own output");
        assert_eq!(second.kernels[0].code, first.kernels[0].code, "{text}");
        let with_words = listing::print(chip, &first.kernels, Options { words: true });
        let third = assemble(&with_words, chip, "k").expect("output with words");
        assert_eq!(third.kernels[0].code, first.kernels[0].code, "{with_words}");
    }
}

#[test]
fn what_a_kernel_needs_is_found_in_its_instructions() {
    let k = &assemble(LOOP, Chip::Gk110, "k").expect("a listing").kernels[0];
    // R2 and R3 are the address.
    assert_eq!((k.name.as_str(), k.gprs, k.barriers, k.param_bytes), ("count", 4, 2, 8));
}

/// Such code is illegal, but it is a listing, and so is what is printed of it.
#[test]
fn a_vector_beyond_the_last_register_counts_to_the_last() {
    for (chip, line, most) in [
        (Chip::Gk110, ".unchecked\nLD.E.128 R252, [R0]", 255),
        (Chip::Gf100, ".unchecked\nLD.E.128 R60, [R0]", 63),
    ] {
        let first = assemble(line, chip, "k").expect("a listing");
        assert_eq!(first.kernels[0].gprs, most);
        let text = listing::print(chip, &first.kernels, Options::default());
        assert_eq!(
            assemble(&text, chip, "k").expect("its own output").kernels[0].code,
            first.kernels[0].code
        );
    }
}

#[test]
fn scheduling_words_are_inserted_where_the_text_has_none() {
    let gf100 = assemble(LOOP, Chip::Gf100, "k").expect("a listing").kernels[0].code.len();
    let gk110 = assemble(LOOP, Chip::Gk110, "k").expect("a listing").kernels.remove(0).code;
    assert_eq!((gf100, gk110.len()), (7, 8));
    assert!(sched_word::decode(Chip::Gk110, gk110[0]).is_some());
}

#[test]
fn words_without_a_meaning_are_kept() {
    let word = 0xffff_ffff_ffff_ffff;
    let kernel = cubin::Kernel { name: "k".into(), code: vec![word], ..Default::default() };
    let text = listing::print(Chip::Gk110, &[kernel], Options::default());
    assert_eq!(assemble(&text, Chip::Gk110, "k").expect("a listing").kernels[0].code, [word]);
}

#[test]
fn constants_and_parameters_survive_a_cubin() {
    let text = ".kernel k\n.param 0 0x0 8\n.param 1 0x8 4\n.constant 2 40\n.data 2 0x20 01020304\n.shared 64\nEXIT\n";
    let kernels = assemble(text, Chip::Gk110, "k").expect("a listing").kernels;
    let file = Cubin::read(&cubin::write(Chip::Gk110, &kernels)).expect("a cubin");
    let k = file.kernel("k").expect("the kernel");
    assert_eq!((k.shared, k.param_bytes, k.params.len()), (64, 12, 2));
    let bank = k.banks.iter().find(|b| b.0 == 2).expect("bank 2");
    assert_eq!(bank.1[32..36], [1, 2, 3, 4]);
}

#[test]
fn errors_point_at_the_place() {
    let place = |text: &str| {
        let found = assemble(text, Chip::Gk110, "k").expect_err("an error");
        let (span, why) = found.list[0].primary.clone().expect("a place");
        (text[span.start as usize..span.end as usize].to_string(), why)
    };
    assert_eq!(place("EXIT;\nFROB R0").0, "FROB");
    assert_eq!(place("IADD R0, R0, 0x100000").0, "0x100000");
    assert_eq!(place("BRA nowhere").0, "nowhere");
    assert_eq!(place("MOV.FTZ R0, R1").0, "MOV.FTZ");
    assert_eq!(place("FADD R0, |R1, R2").0, ",");
    assert_eq!(
        place("NOP\n.sched 1 2 3 4 5 6 7").1,
        "it would be at 0x8; put it before every seven instructions"
    );
    assert_eq!(place("a: NOP\na: NOP").0, "a");
    assert_eq!(place(".registers many").1, "expected a number up to 255, found `many`");
}
