//! A generation's rows with the two indexes that make them fast: by opcode bits for the decoder, by
//! operation for the encoder.

use super::codec::MAX_ROWS_PER_TABLE;
use super::row::Row;
use super::{Op, gf100, gk110};
use nvir_base::Chip;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// All rows of one chip.
pub struct Table {
    /// Sorted by operation; within one, the order in which the generation lists them.
    rows: Vec<Row>,
    /// Where the rows of each operation begin; those of the last end with the table.
    starts: Vec<u16>,
    /// The shapes of the rows, see [`super::codec::shape`]: what the encoder looks at first.
    shapes: Vec<u64>,
    /// Built when the first word is decoded: a compiler only encodes.
    decoder: OnceLock<Decoder>,
}

/// Finds the rows that a word may be of.
struct Decoder {
    key: Key,
    /// Where the rows for each value of the key bits begin in `rows`; those of the last end with
    /// it.
    starts: Vec<u32>,
    rows: Vec<u16>,
    /// Mask and value of each row's opcode bits, at hand so that a mismatch costs one comparison.
    opcodes: Vec<(u64, u64)>,
}

/// Bits that are part of most rows' opcodes: 63:56 and 3:0 on Fermi, 63:56 and 1:0 on GK110. Rows
/// that leave some of them open are found by every value of those. Three or four rows have the same
/// key on average; more bits hardly divide them further.
#[derive(Clone, Copy)]
struct Key {
    low: u32,
}

impl Key {
    const HIGH: u32 = 8;

    fn new(chip: Chip) -> Key {
        Key { low: if chip == Chip::Gk110 { 2 } else { 4 } }
    }

    fn index(self, word: u64) -> usize {
        (((word >> (64 - Self::HIGH)) << self.low) | (word & ((1 << self.low) - 1))) as usize
    }

    fn len(self) -> usize {
        1 << (Self::HIGH + self.low)
    }

    /// The keys of a row's words.
    fn of_row(self, row: &Row) -> impl Iterator<Item = usize> {
        let key_mask = (!0u64 << (64 - Self::HIGH)) | ((1 << self.low) - 1);
        let open = key_mask & !row.mask;
        // All subsets of the open key bits, from none to all.
        let next = move |&extra: &u64| Some(extra.wrapping_sub(open) & open).filter(|&next| next != 0);
        let bits = row.bits;
        std::iter::successors(Some(0), next).map(move |extra| self.index(bits | extra))
    }
}

impl Table {
    /// The table of a chip, built on first use.
    pub fn for_chip(chip: Chip) -> &'static Table {
        static GF100: LazyLock<Table> = LazyLock::new(|| Table::build(Chip::Gf100));
        static GK104: LazyLock<Table> = LazyLock::new(|| Table::build(Chip::Gk104));
        static GK110: LazyLock<Table> = LazyLock::new(|| Table::build(Chip::Gk110));
        match chip {
            Chip::Gf100 => &GF100,
            Chip::Gk104 => &GK104,
            Chip::Gk110 => &GK110,
        }
    }

    fn build(chip: Chip) -> Table {
        let mut rows = if chip == Chip::Gk110 { gk110::rows() } else { gf100::rows(chip) };
        assert!(rows.len() < MAX_ROWS_PER_TABLE);
        rows.iter_mut().for_each(|row| row.finish(chip == Chip::Gk110));
        // Stable, and each row moves once: they are large.
        rows.sort_by_cached_key(|row| row.op as u16);
        let starts = (0..=Op::ALL.len()).map(|op| rows.partition_point(|row| (row.op as usize) < op) as u16);
        let (starts, shapes) = (starts.collect(), rows.iter().map(|row| row.shape).collect());
        Table { rows, starts, shapes, decoder: OnceLock::new() }
    }

    /// All rows, by operation.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(super) fn range(&self, op: Op) -> Range<usize> {
        usize::from(self.starts[op as usize])..usize::from(self.starts[op as usize + 1])
    }

    /// The rows of an operation, in the order in which the encoder tries them.
    pub fn of_op(&self, op: Op) -> &[Row] {
        &self.rows[self.range(op)]
    }

    /// Those of them with a shape, in the same order; none if the operation has no rows at all.
    pub(super) fn of_shape(&self, op: Op, shape: u64) -> Option<impl Iterator<Item = &Row>> {
        let range = self.range(op);
        let rows = self.rows[range.clone()].iter().zip(&self.shapes[range.clone()]);
        (!range.is_empty()).then(|| rows.filter(move |&(_, &s)| s == shape).map(|(row, _)| row))
    }

    /// The row of a word, from its opcode bits; field values are not looked at.
    pub fn find(&self, chip: Chip, word: u64) -> Option<&Row> {
        let decoder = self.decoder.get_or_init(|| Decoder::new(&self.rows, Key::new(chip)));
        decoder.candidates(word).map(|n| &self.rows[n]).find(|r| r.matches(word))
    }
}

impl Decoder {
    fn new(rows: &[Row], key: Key) -> Decoder {
        // Counted, then summed up to where each key's rows end, then filled in from behind.
        let mut starts = vec![0; key.len() + 1];
        rows.iter().flat_map(|row| key.of_row(row)).for_each(|k| starts[k] += 1);
        let mut sum = 0;
        for n in &mut starts {
            sum += *n;
            *n = sum;
        }
        let mut all = vec![0; sum as usize];
        for (n, row) in rows.iter().enumerate().rev() {
            for k in key.of_row(row) {
                starts[k] -= 1;
                all[starts[k] as usize] = n as u16;
            }
        }
        Decoder { key, starts, rows: all, opcodes: rows.iter().map(|r| (r.mask, r.bits)).collect() }
    }

    /// The numbers of the rows whose opcode bits a word has.
    fn candidates(&self, word: u64) -> impl Iterator<Item = usize> {
        let k = self.key.index(word);
        let rows = &self.rows[self.starts[k] as usize..self.starts[k + 1] as usize];
        rows.iter().map(|&n| usize::from(n)).filter(move |&n| {
            let (mask, bits) = self.opcodes[n];
            word & mask == bits
        })
    }
}
