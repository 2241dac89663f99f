//! A generation's rows with the two indexes that make them fast: by opcode bits for the decoder, by operation for
//! the encoder.

use super::codec::MAX_ROWS_PER_TABLE;
use super::row::Row;
use super::{Op, gf100, gk110};
use crate::Chip;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::LazyLock;

/// All rows of one chip.
pub struct Table {
    /// Sorted by operation; within one, the order in which the generation lists them.
    rows: Vec<Row>,
    /// The rows of each operation.
    by_op: Vec<Range<u16>>,
    /// The shapes of the rows, see [`super::codec::shape`]: what the encoder looks at first.
    shapes: Vec<u64>,
    /// For every value of the key bits, a node.
    buckets: Vec<u32>,
    nodes: Vec<Node>,
    candidates: Vec<Candidate>,
}

/// A step of the search for a word's row, after the key bits.
#[derive(Clone)]
enum Node {
    /// Tests one more bit: the nodes for 0 and 1.
    Bit(u8, [u32; 2]),
    /// Few enough to try: a range of the candidates.
    Rows(Range<u32>),
}

/// So many rows are tried one after the other.
const FEW: usize = 4;

/// A row among those to try, with its opcode bits at hand so that a mismatch costs one comparison.
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
        let (buckets, index) = Index::build(&rows, Key::of(chip));
        let shapes = rows.iter().map(|r| r.shape).collect();
        Table { by_op, shapes, buckets, nodes: index.nodes, candidates: index.candidates, rows }
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows of an operation, in the order in which the encoder tries them.
    pub fn of_op(&self, op: Op) -> &[Row] {
        let r = &self.by_op[op as usize];
        &self.rows[r.start as usize..r.end as usize]
    }

    /// Those of them with a shape, in the same order; none if the operation has no rows at all.
    pub(super) fn of_shape(&self, op: Op, shape: u64) -> Option<impl Iterator<Item = &Row>> {
        let r = &self.by_op[op as usize];
        let (start, end) = (usize::from(r.start), usize::from(r.end));
        let rows = self.rows[start..end].iter().zip(&self.shapes[start..end]);
        (start < end).then(|| rows.filter(move |&(_, &s)| s == shape).map(|(row, _)| row))
    }

    /// The row of a word, from its opcode bits; field values are not looked at.
    pub fn find(&self, chip: Chip, word: u64) -> Option<&Row> {
        let mut node = self.buckets[Key::of(chip).index(word)];
        let bucket = loop {
            match &self.nodes[node as usize] {
                Node::Bit(bit, next) => node = next[(word >> bit & 1) as usize],
                Node::Rows(range) => break range,
            }
        };
        self.candidates[bucket.start as usize..bucket.end as usize]
            .iter()
            .filter(|c| word & c.mask == c.bits)
            .map(|c| &self.rows[c.row as usize])
            .find(|r| r.matches(word))
    }
}

/// The search structure while it is built. Buckets with the same rows share their nodes.
struct Index<'r> {
    rows: &'r [Row],
    nodes: Vec<Node>,
    candidates: Vec<Candidate>,
    known: FxHashMap<Vec<u16>, u32>,
}

impl<'r> Index<'r> {
    /// The node of every bucket, and the nodes.
    fn build(rows: &'r [Row], key: Key) -> (Vec<u32>, Index<'r>) {
        let key_mask = (!0u64 << (64 - Key::HIGH)) | ((1 << key.low) - 1);
        let mut buckets: Vec<Vec<u16>> = vec![Vec::new(); key.len()];
        for (i, row) in rows.iter().enumerate() {
            let open = key_mask & !row.mask;
            // All subsets of the open key bits, from none to all.
            let mut extra = 0u64;
            loop {
                buckets[key.index(row.bits | extra)].push(i as u16);
                extra = extra.wrapping_sub(open) & open;
                if extra == 0 {
                    break;
                }
            }
        }
        let mut index =
            Index { rows, nodes: Vec::new(), candidates: Vec::new(), known: FxHashMap::default() };
        let nodes = buckets.into_iter().map(|rows| index.node(rows)).collect();
        (nodes, index)
    }

    /// The node that tells these rows apart.
    fn node(&mut self, rows: Vec<u16>) -> u32 {
        if let Some(&node) = self.known.get(&rows) {
            return node;
        }
        let built = match self.splitting_bit(&rows) {
            Some(bit) => {
                let with = |value: u64| -> Vec<u16> {
                    let fits = |r: &Row| r.mask >> bit & 1 == 0 || r.bits >> bit & 1 == value;
                    rows.iter().copied().filter(|&r| fits(&self.rows[r as usize])).collect()
                };
                let (zero, one) = (with(0), with(1));
                Node::Bit(bit, [self.node(zero), self.node(one)])
            }
            None => {
                let start = self.candidates.len() as u32;
                self.candidates.extend(rows.iter().map(|&row| {
                    let r = &self.rows[row as usize];
                    Candidate { mask: r.mask, bits: r.bits, row }
                }));
                Node::Rows(start..self.candidates.len() as u32)
            }
        };
        let node = self.nodes.len() as u32;
        self.nodes.push(built);
        self.known.insert(rows, node);
        node
    }

    /// The bit whose larger half is smallest, if there are many rows and a bit divides them.
    fn splitting_bit(&self, rows: &[u16]) -> Option<u8> {
        if rows.len() <= FEW {
            return None;
        }
        let larger_half = |bit: u8| {
            let fixed = |value: u64| {
                let is = |r: &&u16| {
                    let r = &self.rows[**r as usize];
                    r.mask >> bit & 1 == 1 && r.bits >> bit & 1 == value
                };
                rows.iter().filter(is).count()
            };
            rows.len() - fixed(0).min(fixed(1))
        };
        (0..64).min_by_key(|&bit| larger_half(bit)).filter(|&bit| larger_half(bit) < rows.len())
    }
}
