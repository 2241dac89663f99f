// The control flow graph: blocks in layers, edges downwards but for loops; layout by layers, order by barycentres.

const SVG = "http://www.w3.org/2000/svg";
const NODE = { width: 172, height: 44, gapX: 26, gapY: 46 };
// More points than that on long edges are not laid out: such edges are straight.
const MOST_POINTS = 20000;

const svg = (name, attributes = {}, ...children) => {
  const e = document.createElementNS(SVG, name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...children);
  return e;
};

// Which edges go back, by a walk in depth; blocks in an order in which the others go forward.
function walk(count, next, entries) {
  const state = new Uint8Array(count), order = [], back = new Set();
  for (const entry of [...entries, ...Array(count).keys()]) {
    if (state[entry]) continue;
    const stack = [[entry, 0]];
    state[entry] = 1;
    while (stack.length) {
      const top = stack[stack.length - 1];
      const [n, k] = top;
      if (k === next[n].length) {
        state[n] = 2;
        order.push(n);
        stack.pop();
        continue;
      }
      top[1]++;
      const to = next[n][k];
      if (state[to] === 1) back.add(n * count + to);
      else if (state[to] === 0) { state[to] = 1; stack.push([to, 0]); }
    }
  }
  return { order: order.reverse(), back };
}

// Places of blocks and ways of edges.
function layout(count, edges, entries) {
  const next = Array.from({ length: count }, () => []);
  for (const [from, to] of edges) next[from].push(to);
  const { order, back } = walk(count, next, entries);
  const layer = new Int32Array(count);
  for (const n of order) {
    for (const to of next[n]) {
      if (!back.has(n * count + to)) layer[to] = Math.max(layer[to], layer[n] + 1);
    }
  }
  const layers = [];
  const put = (item, l) => { (layers[l] ??= []).push(item); item.layer = l; };
  const blocks = Array.from({ length: count }, (_, n) => ({ n, wide: true, up: [], down: [] }));
  // In the order of the code: the kernel stands before its subroutines.
  for (const b of blocks) put(b, layer[b.n]);
  const ways = [];
  let points = 0;
  for (const [from, to, kind] of edges) {
    const isBack = back.has(from * count + to);
    const [top, bottom] = isBack ? [to, from] : [from, to];
    const chain = [blocks[top]];
    const long = layer[bottom] - layer[top] - 1;
    if (long > 0 && points + long <= MOST_POINTS) {
      points += long;
      for (let l = layer[top] + 1; l < layer[bottom]; l++) {
        const point = { wide: false, up: [], down: [] };
        put(point, l);
        chain.push(point);
      }
    }
    chain.push(blocks[bottom]);
    if (top !== bottom) {
      for (let k = 1; k < chain.length; k++) {
        chain[k - 1].down.push(chain[k]);
        chain[k].up.push(chain[k - 1]);
      }
    }
    ways.push({ from, to, kind, chain: isBack ? chain.slice().reverse() : chain, back: isBack });
  }
  const all = layers.filter((l) => l);
  const number = () => all.forEach((l) => l.forEach((item, k) => { item.order = k; }));
  number();
  const middle = (list, what) => list.reduce((s, x) => s + x[what], 0) / list.length;
  for (let round = 0; round < 8; round++) {
    const down = round % 2 === 0;
    for (const l of down ? all : [...all].reverse()) {
      for (const item of l) {
        const others = down ? item.up : item.down;
        item.weight = others.length ? middle(others, "order") : item.order;
      }
      l.sort((a, b) => a.weight - b.weight);
      l.forEach((item, k) => { item.order = k; });
    }
  }
  // Across: side by side, then towards the middle of their neighbours, keeping the order.
  const size = (item) => (item.wide ? NODE.width : 14);
  const gap = (a, b) => (size(a) + size(b)) / 2 + (a.wide || b.wide ? NODE.gapX : 6);
  for (const l of all) {
    let x = 0;
    l.forEach((item, k) => { x += k ? gap(l[k - 1], item) : 0; item.x = x; });
  }
  for (let round = 0; round < 12; round++) {
    for (const l of round % 2 ? [...all].reverse() : all) {
      for (const item of l) {
        const others = round % 2 ? item.down : item.up;
        item.want = others.length ? middle(others, "x") : item.x;
      }
      // Runs of items that want to overlap share the mean of what they want.
      const runs = [];
      for (const item of l) {
        let run = { items: [item], offsets: [0], sum: item.want, x: item.want };
        while (runs.length) {
          const last = runs[runs.length - 1];
          const end = last.x + last.offsets[last.offsets.length - 1];
          const need = gap(last.items[last.items.length - 1], run.items[0]);
          if (run.x >= end + need) break;
          runs.pop();
          const shift = last.offsets[last.offsets.length - 1] + need;
          const offsets = last.offsets.concat(run.offsets.map((o) => o + shift));
          const sum = last.sum + run.sum - shift * run.items.length;
          const items = last.items.concat(run.items);
          run = { items, offsets, sum, x: sum / items.length };
        }
        runs.push(run);
      }
      for (const run of runs) run.items.forEach((item, k) => { item.x = run.x + run.offsets[k]; });
    }
  }
  let least = Infinity, most = -Infinity;
  all.forEach((l) => l.forEach((item) => {
    least = Math.min(least, item.x - size(item) / 2);
    most = Math.max(most, item.x + size(item) / 2);
  }));
  all.forEach((l, k) => l.forEach((item) => {
    item.x -= least;
    item.y = k * (NODE.height + NODE.gapY) + NODE.height / 2;
  }));
  return { blocks, ways, width: most - least, height: all.length * (NODE.height + NODE.gapY) };
}

const KINDS = {
  "": "falls through", taken: "taken", break: "break", continue: "continue", join: "join", back: "back",
};

class Graph {
  constructor(page, box) {
    this.page = page;
    this.box = box;
    this.side = null;
    this.nodes = [];
    this.zoom = 1;
    this.title = element("h2", {});
    this.view = element("div", { class: "view", tabindex: "0" });
    box.append(this.title, this.view);
    this.view.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      this.setZoom(this.zoom * (e.deltaY < 0 ? 1.15 : 1 / 1.15));
    }, { passive: false });
    let drag = null;
    this.view.addEventListener("pointerdown", (e) => {
      if (e.button === 0 && !e.target.closest("g.node")) drag = [e.clientX + this.view.scrollLeft, e.clientY + this.view.scrollTop];
    });
    window.addEventListener("pointermove", (e) => {
      if (!drag) return;
      this.view.scrollLeft = drag[0] - e.clientX;
      this.view.scrollTop = drag[1] - e.clientY;
    });
    window.addEventListener("pointerup", () => { drag = null; });
  }

  setZoom(zoom) {
    this.zoom = Math.max(0.05, Math.min(3, zoom));
    if (this.drawing) {
      this.drawing.setAttribute("width", this.size[0] * this.zoom);
      this.drawing.setAttribute("height", this.size[1] * this.zoom);
    }
  }

  show(side) {
    if (this.side === side) return this.light();
    this.side = side;
    const { code } = side, count = code.starts.length;
    const { blocks, ways, width, height } = layout(count, code.edges, code.entries);
    const margin = 40;
    this.size = [width + 2 * margin, height + 2 * margin];
    const root = svg("svg", { viewBox: `${-margin} ${-margin} ${this.size[0]} ${this.size[1]}` });
    const marker = (id) => svg("marker", { id: "arrow-" + id, class: "arrow " + id, viewBox: "0 0 8 8", refX: 7, refY: 4,
      markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, svg("path", { d: "M0 0 L8 4 L0 8 z" }));
    const kinds = ["falls", "taken", "break", "continue", "join", "back"];
    root.append(svg("defs", {}, ...kinds.map(marker)));
    for (const w of ways) {
      const kind = w.back ? "back" : w.kind || "falls";
      const path = svg("path", { class: "edge " + kind, d: this.way(w), "marker-end": `url(#arrow-${kind})` });
      path.append(svg("title", {}, document.createTextNode(`${this.blockName(w.from)} to ${this.blockName(w.to)}: ${w.kind || "falls through"}`)));
      root.append(path);
    }
    this.nodes = blocks.map((b) => this.node(b));
    root.append(...this.nodes);
    this.drawing = root;
    this.view.replaceChildren(root);
    const used = new Set(ways.map((w) => (w.back ? "back" : w.kind)));
    this.title.replaceChildren(`Control flow of ${side.data.entry || "the kernel"} `, element("span", { class: "tools" },
      ...[...used].map((k) => element("span", { class: "key " + (k || "falls") }, KINDS[k]))));
    this.setZoom(Math.min(1, Math.max(0.35, this.view.clientWidth / this.size[0])));
    this.light();
    const first = blocks[0];
    if (first) this.view.scrollLeft = (first.x + margin) * this.zoom - this.view.clientWidth / 2;
  }

  blockName(n) {
    return this.side.code.pc[this.side.code.starts[n]].toString(16).padStart(4, "0");
  }

  // A path through the points of an edge.
  way(w) {
    const first = w.chain[0], last = w.chain[w.chain.length - 1];
    const half = NODE.height / 2;
    if (w.from === w.to) {
      const x = first.x + NODE.width / 2, y = first.y;
      return `M${x} ${y + 10} C${x + 40} ${y + 30} ${x + 40} ${y - 30} ${x} ${y - 10}`;
    }
    const down = first.y < last.y;
    const points = [[first.x, first.y + (down ? half : -half)]];
    for (const p of w.chain.slice(1, -1)) points.push([p.x, p.y]);
    points.push([last.x, last.y - (down ? half : -half)]);
    if (w.back) {
      // Beside the way down.
      points.forEach((p, k) => { p[0] += k === 0 || k === points.length - 1 ? 24 : 8; });
    }
    let d = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`;
    for (let k = 1; k < points.length; k++) {
      const [x0, y0] = points[k - 1], [x1, y1] = points[k];
      const bend = (y1 - y0) * 0.45;
      d += ` C${x0.toFixed(1)} ${(y0 + bend).toFixed(1)} ${x1.toFixed(1)} ${(y1 - bend).toFixed(1)} ${x1.toFixed(1)} ${y1.toFixed(1)}`;
    }
    return d;
  }

  node(b) {
    const { side } = this, { code } = side;
    const first = code.starts[b.n];
    const end = b.n + 1 < code.starts.length ? code.starts[b.n + 1] : code.pc.length;
    let cycles = 0;
    if (code.issue) for (let n = first; n < end; n++) cycles += code.issue.count[n] || 0;
    const runs = code.counts ? code.counts.issues[first] : null;
    const x = (b.x - NODE.width / 2).toFixed(1), y = (b.y - NODE.height / 2).toFixed(1);
    const g = svg("g", { class: "node", tabindex: "-1", transform: `translate(${x} ${y})` });
    const box = svg("rect", { width: NODE.width, height: NODE.height, rx: 5 });
    if (runs !== null) box.style.setProperty("--heat", (side.heat ? runs / side.heat : 0).toFixed(3));
    const text = (y, cls, s) => svg("text", { x: 9, y, class: cls }, document.createTextNode(s));
    const label = code.entries.includes(b.n) && b.n > 0 ? " subroutine" : b.n === 0 ? " entry" : "";
    g.append(box, text(18, "name", this.blockName(b.n) + label),
      text(35, "", `${end - first} instr${code.issue ? ` \u00b7 ${cycles} cycles` : ""}`));
    if (runs !== null) {
      const count = svg("text", { x: NODE.width - 9, y: 18, class: "runs", "text-anchor": "end" }, document.createTextNode(short(runs) + "\u00d7"));
      g.append(count);
    }
    const lines = [];
    for (let n = first; n < Math.min(end, first + 24); n++) lines.push(side.codeText(n).trim());
    if (end - first > 24) lines.push("\u2026");
    g.append(svg("title", {}, document.createTextNode(lines.join("\n"))));
    g.addEventListener("click", () => this.page.showCode(side, first));
    return g;
  }

  // Marks the block of the selected instruction, and those with code of the line that is lit.
  light() {
    const { page, side } = this;
    if (!side || this.box.hidden) return;
    const lit = page.lit, marked = new Set();
    if (lit && lit.key) {
      side.code.place.forEach((p, n) => { if (placeKey[p] === lit.key) marked.add(side.code.block[n]); });
    }
    const at = page.instruction(side);
    this.nodes.forEach((g, n) => {
      g.classList.toggle("lit", marked.has(n));
      g.classList.toggle("cursor", at !== null && side.code.block[at] === n);
    });
  }
}
