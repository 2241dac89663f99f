//! Primitive assembly: a stream of vertices becomes points, lines, triangles or patches.
//!
//! An [`Assembler`] lives from BEGIN to END (or over what a geometry shader emits) and is fed one vertex at a time, so that
//! several draws inside one BEGIN continue the same strip. Vertices are handles: what they name is the caller's business.
//!
//! Quads and polygons become triangles. Pieces are turned, never mirrored, so that the provoking vertex is the first corner
//! or the last, as the convention says; this is also transform feedback's order. Sources: OpenGL 4.3 compatibility
//! profile, 10.1 (tables 10.1, 13.2); Mesa's `draw_decompose_tmp.h` for the order inside quads and polygons.

/// Primitives by their number in VERTEX_BEGIN_GL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Topology {
    Points = 0,
    Lines,
    LineLoop,
    LineStrip,
    Triangles,
    TriangleStrip,
    TriangleFan,
    Quads,
    QuadStrip,
    Polygon,
    LinesAdjacency,
    LineStripAdjacency,
    TrianglesAdjacency,
    TriangleStripAdjacency,
    Patches,
}

/// What pieces of a topology are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Point,
    Line,
    Triangle,
    Patch,
}

impl Topology {
    /// What people call it.
    pub(super) fn name(self) -> &'static str {
        const NAMES: [&str; 15] = [
            "points",
            "lines",
            "a line loop",
            "a line strip",
            "triangles",
            "a triangle strip",
            "a triangle fan",
            "quads",
            "a quad strip",
            "a polygon",
            "lines with adjacency",
            "a line strip with adjacency",
            "triangles with adjacency",
            "a triangle strip with adjacency",
            "patches",
        ];
        NAMES[self as usize]
    }

    const ALL: [Topology; 15] = {
        use Topology::*;
        [
            Points,
            Lines,
            LineLoop,
            LineStrip,
            Triangles,
            TriangleStrip,
            TriangleFan,
            Quads,
            QuadStrip,
            Polygon,
            LinesAdjacency,
            LineStripAdjacency,
            TrianglesAdjacency,
            TriangleStripAdjacency,
            Patches,
        ]
    };

    /// The topology with a number.
    pub(super) fn from_code(code: u32) -> Option<Topology> {
        Topology::ALL.get(code as usize).copied()
    }

    /// What its pieces are.
    pub(super) fn shape(self) -> Shape {
        use Topology::*;
        match self {
            Points => Shape::Point,
            Lines | LineLoop | LineStrip | LinesAdjacency | LineStripAdjacency => Shape::Line,
            Triangles | TriangleStrip | TriangleFan | Quads | QuadStrip | Polygon => Shape::Triangle,
            TrianglesAdjacency | TriangleStripAdjacency => Shape::Triangle,
            Patches => Shape::Patch,
        }
    }

    fn has_adjacency(self) -> bool {
        use Topology::*;
        matches!(self, LinesAdjacency | LineStripAdjacency | TrianglesAdjacency | TriangleStripAdjacency)
    }
}

/// Which corner of a piece flat inputs come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Provoking {
    First,
    Last,
}

impl Provoking {
    /// The number of the provoking corner of a piece with so many.
    pub(super) fn corner(self, corners: usize) -> usize {
        match self {
            Provoking::First => 0,
            Provoking::Last => corners.saturating_sub(1),
        }
    }
}

/// Whether adjacent vertices are part of the primitives: a geometry stage wants them, nobody else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Adjacent {
    Keep,
    Drop,
}

/// Bits of [`Primitives::flags`]: the edge from corner 0 to 1, 1 to 2, 2 to 0 is drawn in polygon mode line, its first
/// corner in polygon mode point.
pub(crate) const EDGES: [u8; 3] = [1, 2, 4];
pub(crate) const ALL_EDGES: u8 = 7;
/// The counter of the line stipple begins anew.
pub(crate) const STIPPLE_RESET: u8 = 8;

/// Assembled primitives, all of one size.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Primitives {
    /// Vertices of each.
    pub size: usize,
    /// Handles, `size` a primitive.
    pub vertices: Vec<u32>,
    /// PrimitiveID; the triangles of one quad or polygon have the same.
    pub ids: Vec<u32>,
    /// [`EDGES`], [`STIPPLE_RESET`].
    pub flags: Vec<u8>,
}

impl Primitives {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The vertices of one.
    pub(super) fn get(&self, n: usize) -> &[u32] {
        &self.vertices[n * self.size..][..self.size]
    }

    /// Forgets all, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.vertices.clear();
        self.ids.clear();
        self.flags.clear();
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Vertex {
    handle: u32,
    edge: bool,
}

/// The most vertices of a patch.
pub(crate) const MAX_PATCH: usize = 32;
/// The most vertices that later primitives need.
pub(crate) const MAX_PENDING: usize = MAX_PATCH + 1;

/// Turns a stream of vertices into primitives.
#[derive(Clone, Debug)]
pub(crate) struct Assembler {
    topology: Topology,
    provoking: Provoking,
    adjacent: Adjacent,
    patch: usize,
    /// The number of the next primitive.
    id: u32,
    /// Pieces since the last restart.
    pieces: u32,
    /// The first vertex since then.
    first: Vertex,
    /// Vertices that further pieces need.
    pending: [Vertex; MAX_PATCH],
    len: usize,
}

impl Assembler {
    /// An assembler at BEGIN. A patch has 1 to [`MAX_PATCH`] vertices; numbers beyond are taken as the nearest.
    pub(super) fn new(
        topology: Topology,
        provoking: Provoking,
        adjacent: Adjacent,
        patch: usize,
    ) -> Assembler {
        Assembler {
            topology,
            provoking,
            adjacent,
            patch: patch.clamp(1, MAX_PATCH),
            id: 0,
            pieces: 0,
            first: Vertex::default(),
            pending: [Vertex::default(); MAX_PATCH],
            len: 0,
        }
    }

    /// Primitives so far, which is the next PrimitiveID.
    pub(super) fn count(&self) -> u32 {
        self.id
    }

    /// Numbers begin here instead of at 0.
    pub(super) fn continue_from(&mut self, id: u32) {
        self.id = id;
    }

    /// Gives the vertices that later primitives need other handles: those of a new batch.
    pub(super) fn rename(&mut self, mut new: impl FnMut(u32) -> u32) {
        for vertex in &mut self.pending[..self.len] {
            vertex.handle = new(vertex.handle);
        }
        if self.len > 0 || self.pieces > 0 {
            self.first.handle = new(self.first.handle);
        }
    }

    /// Vertices of a primitive.
    pub(super) fn size(&self) -> usize {
        let adjacent = if self.topology.has_adjacency() && self.adjacent == Adjacent::Keep { 2 } else { 1 };
        match self.topology.shape() {
            Shape::Point => 1,
            Shape::Line => 2 * adjacent,
            Shape::Triangle => 3 * adjacent,
            Shape::Patch => self.patch,
        }
    }

    /// Vertices that the first piece needs.
    fn needed(&self) -> usize {
        use Topology::*;
        match self.topology {
            Points => 1,
            Lines | LineLoop | LineStrip => 2,
            Triangles | TriangleStrip | TriangleFan => 3,
            // A polygon's triangle is held back until it is known whether it is the last.
            Quads | QuadStrip | LinesAdjacency | LineStripAdjacency | Polygon => 4,
            TrianglesAdjacency => 6,
            // Likewise, since the last one's neighbour is another vertex; from the second on, two vertices before belong to it.
            TriangleStripAdjacency if self.pieces == 0 => 8,
            TriangleStripAdjacency => 10,
            Patches => self.patch,
        }
    }

    /// The next vertex.
    #[inline]
    pub(super) fn vertex(&mut self, handle: u32, edge: bool, out: &mut Primitives) {
        let vertex = Vertex { handle, edge };
        if self.len == 0 && self.pieces == 0 {
            self.first = vertex;
        }
        self.pending[self.len] = vertex;
        self.len += 1;
        if self.len == self.needed() {
            self.piece(out);
        }
    }

    /// The restart index, or the end of a strip: what follows is a sequence of its own.
    pub(super) fn restart(&mut self, out: &mut Primitives) {
        use Topology::*;
        match self.topology {
            LineLoop if self.pieces > 0 => {
                self.line(out, [self.pending[0], self.first]);
                self.id += 1;
            }
            Polygon => {
                if self.len == 3 {
                    self.polygon(out, true);
                }
                self.id += u32::from(self.pieces != 0);
            }
            TriangleStripAdjacency => {
                let before = if self.pieces == 0 { 0 } else { 2 };
                if self.len >= before + 6 {
                    self.strip_adjacency(out, before + 5);
                    self.id += 1;
                }
            }
            _ => {}
        }
        self.pieces = 0;
        self.len = 0;
    }

    /// END: closes loops and drops what is incomplete.
    pub(super) fn end(&mut self, out: &mut Primitives) {
        self.restart(out);
    }

    /// Keeps the vertices from `from` on.
    fn keep(&mut self, from: usize) {
        self.pending.copy_within(from..self.len, 0);
        self.len -= from;
    }

    /// All vertices of a piece are there.
    fn piece(&mut self, out: &mut Primitives) {
        use Topology::*;
        let p = self.pending;
        let odd = self.pieces & 1 != 0;
        match self.topology {
            Points | Patches => {
                let p = &p[..self.len];
                self.emit(out, p.iter().map(|v| v.handle), ALL_EDGES | STIPPLE_RESET);
                self.len = 0;
            }
            Lines => {
                self.pieces = 0;
                self.line(out, [p[0], p[1]]);
                self.len = 0;
            }
            LineStrip | LineLoop => {
                self.line(out, [p[0], p[1]]);
                self.keep(1);
            }
            Triangles => {
                let edges = EDGES.iter().zip(&p).map(|(bit, v)| if v.edge { *bit } else { 0 }).sum();
                self.triangle(out, [p[0], p[1], p[2]], edges);
                self.len = 0;
            }
            TriangleStrip => {
                let corners = match (odd, self.provoking) {
                    (false, _) => [p[0], p[1], p[2]],
                    (true, Provoking::First) => [p[0], p[2], p[1]],
                    (true, Provoking::Last) => [p[1], p[0], p[2]],
                };
                self.triangle(out, corners, ALL_EDGES);
                self.keep(1);
            }
            TriangleFan => {
                let corners = match self.provoking {
                    Provoking::First => [p[1], p[2], p[0]],
                    Provoking::Last => [p[0], p[1], p[2]],
                };
                self.triangle(out, corners, ALL_EDGES);
                self.pending[1] = p[2];
                self.len = 2;
            }
            Quads => {
                let split = match self.provoking {
                    Provoking::First => [[0, 1, 2], [0, 2, 3]],
                    Provoking::Last => [[0, 1, 3], [1, 2, 3]],
                };
                self.quad(out, [p[0], p[1], p[2], p[3]], split);
                self.len = 0;
            }
            QuadStrip => {
                let split = match self.provoking {
                    Provoking::First => [[0, 1, 2], [0, 2, 3]],
                    Provoking::Last => [[0, 1, 2], [3, 0, 2]],
                };
                let lasting = |v: Vertex| Vertex { edge: true, ..v };
                self.quad(out, [p[0], p[1], p[3], p[2]].map(lasting), split);
                self.keep(2);
            }
            Polygon => {
                self.polygon(out, false);
                self.pending[1] = p[2];
                self.pending[2] = p[3];
                self.len = 3;
                return;
            }
            LinesAdjacency => {
                self.pieces = 0;
                self.line_adjacency(out, [p[0], p[1], p[2], p[3]]);
                self.len = 0;
            }
            LineStripAdjacency => {
                self.line_adjacency(out, [p[0], p[1], p[2], p[3]]);
                self.keep(1);
            }
            TrianglesAdjacency => {
                self.triangle_adjacency(out, [p[0], p[1], p[2], p[3], p[4], p[5]]);
                self.len = 0;
            }
            TriangleStripAdjacency => {
                let before = if self.pieces == 0 { 0 } else { 2 };
                self.strip_adjacency(out, before + 6);
                self.keep(before);
            }
        }
        self.id += 1;
    }

    /// Whether a piece is the first of its sequence.
    fn reset(&self) -> u8 {
        if self.pieces == 0 { STIPPLE_RESET } else { 0 }
    }

    fn emit(&mut self, out: &mut Primitives, vertices: impl IntoIterator<Item = u32>, flags: u8) {
        out.size = self.size();
        out.vertices.extend(vertices);
        out.ids.push(self.id);
        out.flags.push(flags);
        self.pieces += 1;
    }

    fn line(&mut self, out: &mut Primitives, corners: [Vertex; 2]) {
        self.emit(out, corners.map(|v| v.handle), ALL_EDGES | self.reset());
    }

    fn triangle(&mut self, out: &mut Primitives, corners: [Vertex; 3], edges: u8) {
        self.emit(out, corners.map(|v| v.handle), edges | STIPPLE_RESET);
    }

    /// Two triangles of a loop of four; the edge that they share is not drawn.
    fn quad(&mut self, out: &mut Primitives, around: [Vertex; 4], split: [[usize; 3]; 2]) {
        for corners in split {
            let edge = |k: usize| {
                let (from, to) = (corners[k], corners[(k + 1) % 3]);
                let drawn = to == (from + 1) % 4 && around[from].edge;
                if drawn { EDGES[k] } else { 0 }
            };
            let edges = edge(0) | edge(1) | edge(2);
            self.triangle(out, corners.map(|c| around[c]), edges);
        }
    }

    /// The polygon's next triangle; only its first one has the first edge, only its last one the closing edge.
    fn polygon(&mut self, out: &mut Primitives, last: bool) {
        let [a, b, c, ..] = self.pending;
        let drawn = [self.pieces == 0 && a.edge, b.edge, last && c.edge];
        let (corners, drawn) = match self.provoking {
            Provoking::First => ([a, b, c], drawn),
            Provoking::Last => ([b, c, a], [drawn[1], drawn[2], drawn[0]]),
        };
        let edges = EDGES.iter().zip(drawn).map(|(bit, on)| if on { *bit } else { 0 }).sum();
        self.triangle(out, corners, edges);
    }

    fn line_adjacency(&mut self, out: &mut Primitives, p: [Vertex; 4]) {
        match self.adjacent {
            Adjacent::Keep => self.emit(out, p.map(|v| v.handle), ALL_EDGES | self.reset()),
            Adjacent::Drop => self.line(out, [p[1], p[2]]),
        }
    }

    fn triangle_adjacency(&mut self, out: &mut Primitives, p: [Vertex; 6]) {
        match self.adjacent {
            Adjacent::Keep => self.emit(out, p.map(|v| v.handle), ALL_EDGES | STIPPLE_RESET),
            Adjacent::Drop => self.triangle(out, [p[0], p[2], p[4]], ALL_EDGES),
        }
    }

    /// The next triangle of a strip with adjacency, whose neighbour beyond the third corner is `next` (table 10.1). All but
    /// the first find the neighbour before them two vertices before their own.
    fn strip_adjacency(&mut self, out: &mut Primitives, next: usize) {
        let (own, previous) = if self.pieces == 0 { (0, 1) } else { (2, 0) };
        let order = match (self.pieces & 1 != 0, self.provoking) {
            (false, _) => [own, previous, own + 2, next, own + 4, own + 3],
            (true, Provoking::First) => [own, own + 3, own + 4, next, own + 2, previous],
            (true, Provoking::Last) => [own + 2, previous, own, own + 3, own + 4, next],
        };
        let p = order.map(|i| self.pending[i]);
        self.triangle_adjacency(out, p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Provoking::{First, Last};

    fn assemble(topology: Topology, provoking: Provoking, adjacent: Adjacent, stream: &[i32]) -> Primitives {
        let mut out = Primitives::default();
        let mut a = Assembler::new(topology, provoking, adjacent, 3);
        for &v in stream {
            if v < 0 { a.restart(&mut out) } else { a.vertex(v as u32, v % 2 == 0, &mut out) }
        }
        a.end(&mut out);
        assert_eq!(a.count(), out.ids.last().map_or(0, |id| id + 1));
        assert_eq!(out.vertices.len(), out.len() * out.size);
        out
    }

    fn vertices(topology: Topology, provoking: Provoking, stream: &[i32]) -> Vec<u32> {
        assemble(topology, provoking, Adjacent::Drop, stream).vertices
    }

    #[test]
    fn incomplete_primitives_are_dropped() {
        for (code, enough) in [1, 2, 2, 2, 3, 3, 3, 4, 4, 3, 4, 4, 6, 6, 3].into_iter().enumerate() {
            let topology = Topology::from_code(code as u32).unwrap();
            let stream: Vec<i32> = (0..enough).collect();
            for convention in [First, Last] {
                assert!(!vertices(topology, convention, &stream).is_empty(), "{topology:?}");
                assert!(vertices(topology, convention, &stream[1..]).is_empty(), "{topology:?}");
            }
        }
        assert_eq!(Topology::from_code(15), None);
    }

    #[test]
    fn strips_and_fans_keep_their_facing_and_their_provoking_vertex() {
        let five = [0, 1, 2, 3, 4];
        assert_eq!(vertices(Topology::TriangleStrip, First, &five), [0, 1, 2, 1, 3, 2, 2, 3, 4]);
        assert_eq!(vertices(Topology::TriangleStrip, Last, &five), [0, 1, 2, 2, 1, 3, 2, 3, 4]);
        assert_eq!(vertices(Topology::TriangleFan, First, &five), [1, 2, 0, 2, 3, 0, 3, 4, 0]);
        assert_eq!(vertices(Topology::TriangleFan, Last, &five), [0, 1, 2, 0, 2, 3, 0, 3, 4]);
        assert_eq!(vertices(Topology::Polygon, First, &five), [0, 1, 2, 0, 2, 3, 0, 3, 4]);
        assert_eq!(vertices(Topology::Polygon, Last, &five), [1, 2, 0, 2, 3, 0, 3, 4, 0]);
        assert_eq!(vertices(Topology::Quads, First, &[0, 1, 2, 3]), [0, 1, 2, 0, 2, 3]);
        assert_eq!(vertices(Topology::Quads, Last, &[0, 1, 2, 3]), [0, 1, 3, 1, 2, 3]);
        let strip = [0, 1, 2, 3, 4, 5];
        assert_eq!(vertices(Topology::QuadStrip, First, &strip), [0, 1, 3, 0, 3, 2, 2, 3, 5, 2, 5, 4]);
        assert_eq!(vertices(Topology::QuadStrip, Last, &strip), [0, 1, 3, 2, 0, 3, 2, 3, 5, 4, 2, 5]);
        assert_eq!(vertices(Topology::LineLoop, First, &five[..3]), [0, 1, 1, 2, 2, 0]);
    }

    #[test]
    fn restart_begins_a_sequence_but_not_the_numbers() {
        let p = assemble(Topology::TriangleStrip, Last, Adjacent::Drop, &[0, 1, 2, 3, -1, 4, 5, -1, 6, 7, 8]);
        assert_eq!((p.vertices, p.ids), (vec![0, 1, 2, 2, 1, 3, 6, 7, 8], vec![0, 1, 2]));
        let p = assemble(Topology::LineLoop, Last, Adjacent::Drop, &[0, 1, 2, -1, 3, 4]);
        assert_eq!(p.vertices, [0, 1, 1, 2, 2, 0, 3, 4, 4, 3]);
        let reset: Vec<bool> = p.flags.iter().map(|f| f & STIPPLE_RESET != 0).collect();
        assert_eq!(reset, [true, false, false, true, false]);
        let p = assemble(Topology::Quads, First, Adjacent::Drop, &[0, 1, 2, 3, 4, 5, -1, 6, 7, 8, 9]);
        assert_eq!((p.vertices[6..].to_vec(), p.ids), (vec![6, 7, 8, 6, 8, 9], vec![0, 0, 1, 1]));
        let p = assemble(Topology::Polygon, First, Adjacent::Drop, &[0, 1, 2, 3, -1, 4, 5, 6]);
        assert_eq!(p.ids, [0, 0, 1]);
        let lines = assemble(Topology::Lines, First, Adjacent::Drop, &[0, 1, 2, 3]);
        assert!(lines.flags.iter().all(|f| f & STIPPLE_RESET != 0));
    }

    #[test]
    fn only_outer_edges_with_flags_are_drawn() {
        // Even vertices have edge flags.
        let edges = |t, c, s: &[i32]| -> Vec<u8> {
            assemble(t, c, Adjacent::Drop, s).flags.iter().map(|f| f & ALL_EDGES).collect()
        };
        assert_eq!(edges(Topology::Triangles, First, &[0, 1, 2]), [5]);
        // 0 1 2: the edge of 0; 0 2 3: that of 2, and not that of 3.
        assert_eq!(edges(Topology::Quads, First, &[0, 1, 2, 3]), [1, 2]);
        // 0 1 3: the edge of 0; 1 2 3: that of 2.
        assert_eq!(edges(Topology::Quads, Last, &[0, 1, 2, 3]), [1, 2]);
        assert_eq!(edges(Topology::QuadStrip, First, &[0, 1, 2, 3]), [3, 6]);
        // Edges 0-1 and 2-3; 4-0 closes.
        assert_eq!(edges(Topology::Polygon, First, &[0, 1, 2, 3, 4]), [1, 2, 4]);
        // The same, turned by one.
        assert_eq!(edges(Topology::Polygon, Last, &[0, 1, 2, 3, 4]), [4, 1, 2]);
        assert_eq!(edges(Topology::TriangleStrip, First, &[1, 3, 5]), [7]);
    }

    #[test]
    fn adjacency() {
        let keep = |t, c, n: i32| assemble(t, c, Adjacent::Keep, &(0..n).collect::<Vec<_>>());
        assert_eq!(keep(Topology::LineStripAdjacency, Last, 5).vertices, [0, 1, 2, 3, 1, 2, 3, 4]);
        assert_eq!(vertices(Topology::LinesAdjacency, Last, &[0, 1, 2, 3]), [1, 2]);
        assert_eq!(vertices(Topology::TrianglesAdjacency, Last, &[0, 1, 2, 3, 4, 5]), [0, 2, 4]);
        // Table 10.1 with numbers from 0.
        let strip = Topology::TriangleStripAdjacency;
        assert_eq!(keep(strip, Last, 7).vertices, [0, 1, 2, 5, 4, 3]);
        assert_eq!(keep(strip, Last, 8).vertices, [0, 1, 2, 6, 4, 3, 4, 0, 2, 5, 6, 7]);
        assert_eq!(
            keep(strip, Last, 10).vertices,
            [[0, 1, 2, 6, 4, 3], [4, 0, 2, 5, 6, 8], [4, 2, 6, 9, 8, 7]].concat()
        );
        assert_eq!(keep(strip, First, 10).vertices[6..12], [2, 5, 6, 8, 4, 0]);
        assert_eq!(
            vertices(strip, Last, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
            vertices(Topology::TriangleStrip, Last, &[0, 2, 4, 6, 8])
        );
        assert_eq!(keep(strip, Last, 10).ids, [0, 1, 2]);
    }

    #[test]
    fn patches_and_numbers_that_go_on() {
        let mut out = Primitives::default();
        let mut a = Assembler::new(Topology::Patches, First, Adjacent::Keep, 0);
        a.continue_from(7);
        a.vertex(3, true, &mut out);
        assert_eq!((out.size, out.get(0), out.ids[0], a.count()), (1, &[3][..], 7, 8));
        assert_eq!(Assembler::new(Topology::Patches, First, Adjacent::Keep, 99).size(), 32);
    }
}
