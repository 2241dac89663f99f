// A column: a list of rows of which only those in sight are in the document.

const ROW = 18;

const element = (name, attributes = {}, ...children) => {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) {
    if (k === "class") e.className = v; else e.setAttribute(k, v);
  }
  e.append(...children);
  return e;
};

// Colours of the page, for what is drawn; forgotten when it becomes dark or light.
let colors = new Map();
function color(name) {
  if (!colors.has(name)) colors.set(name, getComputedStyle(document.documentElement).getPropertyValue(name));
  return colors.get(name);
}

// Parts of a line with their classes.
const TOKEN = new RegExp([
  /(\/\/.*$|;.*$)/,
  /(%[rpc]\d+|\b(?:TEMP|SV|IN|OUT|ADDR|CONST|IMM|BUFFER|SAMP|IMAGE)\[[^\]]*\]|%\d+|\bssa_\d+|\bR\d+\b|\bRZ\b|\bPT\b|!?P[0-6]\b|\bCC\b)/,
  /(\.L_[0-9a-f]+|\bb\d+\b)/,
  /(-?\b0x[0-9a-f]+\b|-?\b\d+(?:\.\d+)?\b)/,
  /(\bc\d*\[[^\]]*\](?:\[[^\]]*\])?)/,
].map((r) => r.source).join("|"), "g");
const CLASSES = ["", "comment", "reg", "label", "number", "constant"];

function tokens(text) {
  const out = [];
  let last = 0;
  for (const m of text.matchAll(TOKEN)) {
    if (m.index > last) out.push(["", text.slice(last, m.index)]);
    out.push([CLASSES[m.slice(1).findIndex((x) => x !== undefined) + 1], m[0]]);
    last = m.index + m[0].length;
  }
  if (last < text.length) out.push(["", text.slice(last)]);
  return out;
}

// Puts a line into an element, with what is searched for, and the register under the pointer, marked.
function putText(to, text, query, word) {
  const lower = query ? text.toLowerCase() : "";
  let from = 0;
  const plain = (part, cls) => {
    let at = query ? lower.indexOf(query, from) : -1;
    const end = from + part.length;
    const children = [];
    let p = from;
    while (at >= 0 && at < end) {
      const stop = Math.min(end, at + query.length);
      if (at > p) children.push(text.slice(p, at));
      children.push(element("mark", {}, text.slice(at, stop)));
      p = stop;
      at = lower.indexOf(query, stop);
    }
    if (p < end) children.push(text.slice(p, end));
    from = end;
    if (cls || children.length > 1) {
      const same = cls === "reg" && word !== null && part.replace("!", "") === word;
      to.append(element("span", { class: same ? cls + " word" : cls }, ...children));
    } else {
      to.append(...children);
    }
  };
  for (const [cls, part] of tokens(text)) plain(part, cls);
}

class List {
  constructor(page, name, side) {
    this.page = page;
    this.name = name;
    this.side = side;
    this.cursor = 0;
    this.matches = [];
    this.word = null;
    this.tools = element("span", { class: "tools" });
    this.head = element("h2", {}, this.tools);
    this.window = element("div", { class: "window", role: "listbox" });
    this.space = element("div", { class: "space" }, this.window);
    this.body = element("div", { class: "body", tabindex: "0" }, this.space);
    this.ruler = element("canvas", { class: "ruler", width: "10" });
    this.strip = element("canvas", { class: "strip", hidden: "" });
    this.box = element("section", { class: "column " + name, "aria-label": name }, this.head,
      element("div", { class: "frame" }, this.body, this.strip, this.ruler));
    this.body.addEventListener("scroll", () => {
      if (this.body.scrollTop !== this.top) {
        this.measure();
        this.draw();
      }
      this.page.scrolled(this);
    }, { passive: true });
    this.body.addEventListener("mousemove", (e) => this.over(e));
    this.body.addEventListener("mouseleave", () => { this.setWord(null); this.page.hover(null, -1); });
    this.body.addEventListener("click", (e) => {
      const i = this.rowAt(e);
      if (i >= 0) this.page.select(this, i);
    });
    this.ruler.addEventListener("click", (e) => {
      const at = e.offsetY / this.ruler.clientHeight;
      this.body.scrollTop = at * this.rows.length * ROW - this.body.clientHeight / 2;
    });
  }

  set(rows) {
    this.rows = rows;
    this.cursor = Math.min(this.cursor, Math.max(0, rows.length - 1));
    this.space.style.height = rows.length * ROW + "px";
    this.search(this.page.query);
    this.measure();
    this.draw();
    this.drawRuler();
  }

  // What the document says of sizes: read before anything is written, since it is laid out for that.
  measure() {
    this.top = this.body.scrollTop;
    this.height = this.body.clientHeight;
    this.rulerHeight = this.ruler.clientHeight;
  }

  rowAt(e) {
    const y = e.clientY - this.space.getBoundingClientRect().top;
    const i = Math.floor(y / ROW);
    return i >= 0 && i < this.rows.length ? i : -1;
  }

  over(e) {
    const reg = e.target.closest ? e.target.closest(".reg") : null;
    this.setWord(reg ? reg.textContent.replace("!", "") : null);
    this.page.hover(this, this.rowAt(e));
  }

  setWord(word) {
    if (word !== this.word) {
      this.word = word;
      this.draw();
    }
  }

  draw() {
    if (!this.rows) return;
    const first = Math.max(0, Math.floor(this.top / ROW) - 8);
    const last = Math.min(this.rows.length, Math.ceil((this.top + this.height) / ROW) + 8);
    const lines = [];
    for (let i = first; i < last; i++) lines.push(this.line(i));
    this.window.style.top = first * ROW + "px";
    this.window.replaceChildren(...lines);
    if (!this.strip.hidden) drawStrip(this);
  }

  line(i) {
    const { rows, page } = this;
    const mark = rows.mark(i), key = rows.key(i), lit = page.lit;
    let cls = "row" + ["", " added", " removed", " changed"][mark];
    if (lit && key !== 0 && key === lit.key) {
      cls += " lit";
      if (lit.place !== 0 && rows.place(i) === lit.place) cls += " exact";
    }
    if (lit && lit.list === this && lit.row === i) cls += " under";
    if (i === this.cursor && page.active === this) cls += " cursor";
    const line = element("div", { class: cls, role: "option", "data-row": i });
    this.gutter(line, i, key);
    const text = element("span", { class: "text" });
    putText(text, rows.text(i), page.query, this.word);
    line.append(text);
    if (rows.kind === "sass") this.behind(line, i);
    if (rows.kind === "source") {
      const remarks = page.remarksOf(key);
      if (remarks.length) {
        line.append(element("span", { class: "chip remark", title: remarks.map((r) => `${r.pass}: ${r.message}`).join("\n") },
          `${remarks.length} remark${remarks.length > 1 ? "s" : ""}`));
      }
    }
    return line;
  }

  // What stands in front of a line.
  gutter(line, i, key) {
    const { rows } = this;
    if (rows.kind === "source") {
      line.append(element("span", { class: "no" }, String(i + 1)));
      return;
    }
    if (rows.kind === "ir") {
      line.append(element("span", { class: "sign" }, ["", "+", "\u2212", ""][rows.mark(i)]),
        element("span", { class: "from" }, key ? String(keyLine(key)) : ""));
      return;
    }
    const n = rows.order[i], side = rows.side, code = side.code;
    if (n < 0) {
      line.classList.add("filler");
      return;
    }
    if (n === code.starts[code.block[n]]) line.classList.add("start");
    line.append(element("span", { class: "from" }, key ? String(keyLine(key)) : "\u00b7"));
    if (code.counts) {
      const count = code.counts.issues[n];
      const heat = side.heat ? count / side.heat : 0;
      line.append(element("span", { class: "count", style: `--heat:${heat.toFixed(3)}` }, count ? short(count) : ""));
    }
    line.append(element("span", { class: "pc" }, code.pc[n].toString(16).padStart(4, "0")));
    if (code.issue) {
      const brace = side.dual(n) ? "\u23a7" : n > 0 && side.dual(n - 1) ? "\u23a9" : "";
      line.append(element("span", { class: "brace" }, brace));
    }
  }

  // What stands behind machine code: why it is there, its issue, how many registers are alive.
  behind(line, i) {
    const { rows } = this, n = rows.order[i];
    if (n < 0) return;
    const side = rows.side, code = side.code;
    const right = element("span", { class: "right" });
    const made = side.made(n);
    // What branches has the line of the branch, and needs no words.
    if (made && !(made === "control flow" && rows.key(i))) right.append(element("span", { class: "chip" }, made));
    if (code.issue && code.issue.count[n] !== null) {
      const c = code.issue.count[n];
      const wait = element("span", { class: "wait" + (c > 8 ? " long" : "") }, String(c));
      wait.style.setProperty("--wait", Math.min(1, c / 32).toFixed(3));
      right.append(wait);
    }
    const alive = element("span", { class: "alive" }, String(code.alive[n]));
    alive.style.setProperty("--alive", (code.alive[n] / Math.max(1, side.most)).toFixed(3));
    right.append(alive);
    line.append(right);
  }

  // Marks of all rows at the edge.
  drawRuler() {
    const h = Math.max(1, this.rulerHeight), context = this.ruler.getContext("2d");
    if (this.ruler.height !== h) this.ruler.height = h;
    context.clearRect(0, 0, 10, h);
    if (!this.rows || this.rows.length === 0) return;
    const scale = Math.min(ROW, h / this.rows.length), size = Math.max(2, scale);
    const colors = [null, color("--green"), color("--red"), color("--yellow")];
    const lit = this.page.lit;
    for (let i = 0; i < this.rows.length; i++) {
      const mark = this.rows.mark(i);
      if (mark !== SAME) {
        context.fillStyle = colors[mark];
        context.fillRect(0, i * scale, 3, size);
      }
    }
    if (lit && lit.key) {
      context.fillStyle = color("--accent");
      for (const i of this.rows.of(lit.key)) context.fillRect(3, i * scale, 7, size);
    }
    context.fillStyle = color("--found");
    for (const i of this.matches) context.fillRect(4, i * scale, 4, size);
  }

  // Whether a row is in sight.
  shows(i) {
    const top = i * ROW;
    return top >= this.body.scrollTop && top + ROW <= this.body.scrollTop + this.body.clientHeight;
  }

  reveal(i) {
    if (!this.shows(i)) this.body.scrollTop = i * ROW - this.body.clientHeight / 3;
  }

  // Shows the first row that comes from a source line, unless one is in sight.
  revealKey(key) {
    if (!key || !this.rows) return;
    const all = this.rows.of(key).filter((i) => this.rows.mark(i) !== REMOVED);
    if (all.length && !all.some((i) => this.shows(i))) this.reveal(all[0]);
  }

  search(query) {
    this.matches = [];
    if (query && this.rows) {
      for (let i = 0; i < this.rows.length; i++) {
        if (this.rows.text(i).toLowerCase().includes(query)) this.matches.push(i);
      }
    }
  }
}

// A number in few characters.
function short(n) {
  if (n < 10000) return String(n);
  const units = ["k", "M", "G", "T"];
  let k = -1;
  while (n >= 1000 && k < 3) { n /= 1000; k++; }
  return (n < 10 ? n.toFixed(1) : Math.round(n)) + units[k];
}

// Live ranges beside the rows in sight: a line for each register.
function drawStrip(list) {
  const canvas = list.strip, { rows } = list;
  const side = rows.side, registers = side.liveRegisters();
  const step = Math.max(2, Math.min(7, Math.floor(260 / Math.max(1, registers.length))));
  const width = registers.length * step + 4, { top, height } = list;
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  canvas.style.width = width + "px";
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, width, height);
  const hues = ["--accent", "--green", "--violet", "--yellow"].map(color);
  const shown = list.word;
  registers.forEach((r, x) => {
    context.fillStyle = shown === r.name ? color("--red") : hues[x % hues.length];
    const w = Math.max(1, step - 1);
    for (let k = 0; k < r.ranges.length; k += 2) {
      const from = rows.at[r.ranges[k]] * ROW - top, to = (rows.at[r.ranges[k + 1]] + 1) * ROW - top;
      if (to > 0 && from < height) context.fillRect(2 + x * step, from + 2, w, Math.max(3, to - from - 4));
    }
  });
}

// Registers in their order with the rows between which they hold something.
Side.prototype.liveRegisters = function () {
  if (!this.registers) {
    const all = new Map();
    const { ranges } = this.code;
    for (let k = 0; k < ranges.length; k += 3) {
      if (!all.has(ranges[k])) all.set(ranges[k], []);
      all.get(ranges[k]).push(ranges[k + 1], ranges[k + 2]);
    }
    const name = (r) => (r < 7 ? "P" + r : r === 7 ? "CC" : "R" + (r - 8));
    // General registers first.
    const order = [...all.keys()].sort((a, b) => (a < 8) - (b < 8) || a - b);
    this.registers = order.map((r) => ({ name: name(r), ranges: all.get(r) }));
  }
  return this.registers;
};
