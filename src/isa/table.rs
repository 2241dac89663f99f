//! A generation's rows with the two indexes that make them fast: by opcode bits for the decoder, by operation for
//! the encoder.

use super::codec::MAX_ROWS_PER_TABLE;
use super::row::Row;
use super::{Op, gf100, gk110};
use crate::Chip;
use std::ops::Range;
use std::sync::LazyLock;

/// All rows of one chip.
pub struct Table {
    /// Sorted by operation; within one, the order in which the generation lists them.
    rows: Vec<Row>,
    /// The rows of each operation.
    by_op: Vec<Range<u16>>,
    /// For every value of the key bits, a range of `candidates`.
    buckets: Vec<Range<u32>>,
    candidates: Vec<Candidate>,
}

/// A row in a bucket, with its opcode bits at hand so that a mismatch costs one comparison.
struct Candidate {
    mask: u64,
    bits: u64,
    row: u16,
}

/// The opcode bits that all layouts share: bits 63:54 and 3:0 on Fermi, 63:54 and 1:0 on GK110.
#[derive(Clone, Copy)]
struct Key {
    low: u32,
}

impl Key {
    const HIGH: u32 = 10;

    fn of(chip: Chip) -> Key {
        Key { low: if chip == Chip::Gk110 { 2 } else { 4 } }
    }

    fn index(self, word: u64) -> usize {
        (((word >> (64 - Self::HIGH)) << self.low) | (word & ((1 << self.low) - 1))) as usize
    }

    fn len(self) -> usize {
        1 << (Self::HIGH + self.low)
    }
}

impl Table {
    /// The table of a chip, built on first use.
    pub fn of(chip: Chip) -> &'static Table {
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
        let listed = if chip == Chip::Gk110 { gk110::rows() } else { gf100::rows(chip) };
        let mut rows: Vec<Row> = listed.into_iter().map(Row::finish).collect();
        rows.sort_by_key(|r| r.op);
        assert!(rows.len() < MAX_ROWS_PER_TABLE);
        let by_op = Op::ALL
            .iter()
            .map(|&op| {
                let start = rows.partition_point(|r| r.op < op);
                start as u16..rows.partition_point(|r| r.op <= op) as u16
            })
            .collect();
        let (buckets, candidates) = index(&rows, Key::of(chip));
        Table { rows, by_op, buckets, candidates }
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows of an operation, in the order in which the encoder tries them.
    pub fn of_op(&self, op: Op) -> &[Row] {
        let r = &self.by_op[op as usize];
        &self.rows[r.start as usize..r.end as usize]
    }

    /// The row of a word, from its opcode bits; field values are not looked at.
    pub fn find(&self, chip: Chip, word: u64) -> Option<&Row> {
        let bucket = &self.buckets[Key::of(chip).index(word)];
        self.candidates[bucket.start as usize..bucket.end as usize]
            .iter()
            .filter(|c| word & c.mask == c.bits)
            .map(|c| &self.rows[c.row as usize])
            .find(|r| r.matches(word))
    }
}

fn index(rows: &[Row], key: Key) -> (Vec<Range<u32>>, Vec<Candidate>) {
    let key_mask = (!0u64 << (64 - Key::HIGH)) | ((1 << key.low) - 1);
    let mut pairs: Vec<(u32, u16)> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let open = key_mask & !row.mask;
        // All subsets of the open key bits, from none to all.
        let mut extra = 0u64;
        loop {
            pairs.push((key.index(row.bits | extra) as u32, i as u16));
            extra = extra.wrapping_sub(open) & open;
            if extra == 0 {
                break;
            }
        }
    }
    pairs.sort_unstable();
    let mut buckets = Vec::with_capacity(key.len());
    let mut at = 0;
    for k in 0..key.len() as u32 {
        let start = at;
        while pairs.get(at).is_some_and(|p| p.0 == k) {
            at += 1;
        }
        buckets.push(start as u32..at as u32);
    }
    let candidate = |&(_, row): &(u32, u16)| {
        let r = &rows[row as usize];
        Candidate { mask: r.mask, bits: r.bits, row }
    };
    (buckets, pairs.iter().map(candidate).collect())
}
