// Steps of threads, and how words and tables are shown.

const word = new Uint32Array(1);
const float = new Float32Array(word.buffer);

function asFloat(bits) {
  word[0] = bits;
  return float[0];
}

// A float as people read it; what is no number in its own words.
function floatText(bits) {
  const v = asFloat(bits);
  if (Number.isNaN(v)) return "NaN";
  if (!Number.isFinite(v)) return v > 0 ? "inf" : "-inf";
  if (v === 0) return Object.is(v, -0) ? "-0" : "0";
  const size = Math.abs(v);
  if (size >= 1e6 || size < 1e-4) return v.toExponential(4);
  return String(Number(v.toPrecision(7)));
}

const hex = (bits) => "0x" + (bits >>> 0).toString(16).padStart(8, "0");

// Whether bits are more likely an integer than a float.
function looksInteger(bits) {
  const exponent = bits >>> 23 & 0xff;
  return bits !== 0 && (exponent < 64 || (bits >>> 0) > 0xffffff00);
}

const guess = (bits) => looksInteger(bits) ? String(bits | 0) : floatText(bits);


// An element with text, and what is inside of it.
function make(tag, className, ...inside) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  e.append(...inside.filter((x) => x !== null && x !== undefined));
  return e;
}

function tableOf(heads, rows) {
  const table = make("table");
  const line = (cells, tag) => {
    const tr = make("tr");
    for (const cell of cells) {
      const td = cell instanceof Element && /^T[DH]$/.test(cell.tagName) ? cell : make(tag, "", cell);
      tr.append(td);
    }
    return tr;
  };
  if (heads) table.append(line(heads, "th"));
  for (const row of rows) table.append(row instanceof Element ? row : line(row, "td"));
  return table;
}

const note = (text) => make("p", "note", text);

// The steps of a thread or of a warp, forwards and backwards. Of a warp one thread's values are shown, which is chosen.
// `on.close()` is called to close them, `on.stepped(pc)` when another instruction is the one.
class Steps {
  constructor(on, found, title) {
    this.on = on;
    this.lane = 0;
    this.found = found;
    this.title = title;
    this.at = 0;
    this.text = new Map(found.program);
    this.element = make("div");
    this.build();
  }

  // What the chosen thread has of a value, which is one for all or one for each.
  mine(value) { return Array.isArray(value) ? value[this.lane] : value; }

  bit(mask) { return mask >>> this.lane & 1; }

  runs(mask) { return this.found.lanes === 1 || Boolean(parseInt(mask, 16) >>> this.lane & 1); }

  build() {
    const { steps } = this.found;
    this.slider = make("input");
    Object.assign(this.slider, { type: "range", min: 0, max: Math.max(0, steps.length - 1), value: 0 });
    this.slider.setAttribute("aria-label", "Step");
    this.slider.oninput = () => this.go(Number(this.slider.value));
    const button = (text, title, by) => {
      const b = make("button", "", text);
      b.title = title;
      b.onclick = () => this.go(this.at + by);
      return b;
    };
    this.label = make("output");
    const close = make("button", "", "Close");
    close.onclick = () => this.on.close();
    const bar = make("div", "bar", close, button("\u25c0", "Back (,)", -1), button("\u25b6", "On (.)", 1), this.slider, this.label);
    if (this.found.lanes > 1) {
      const lane = make("input");
      Object.assign(lane, { type: "number", min: 0, max: this.found.lanes - 1, value: 0 });
      lane.oninput = () => {
        this.lane = Math.min(Math.max(0, Number(lane.value) | 0), this.found.lanes - 1);
        this.go(this.at);
      };
      bar.append(make("label", "", "lane ", lane));
    }
    this.code = make("div", "code");
    this.lines = steps.map(([pc, mask], n) => {
      const line = make("div", "", `${pc.toString(16).padStart(4, "0")}  ${this.text.get(pc) || ""}`);
      line.title = `threads ${mask}`;
      line.onclick = () => this.go(n);
      return line;
    });
    this.code.append(...this.lines);
    this.state = make("div", "state");
    this.element.append(make("h3", "", `Steps of the ${this.title}`),
      this.found.cut ? note("Cut off: there are more.") : "", make("div", "steps", bar, this.code, this.state));
    this.go(0);
  }

  // Registers and predicates before step n.
  values(n) {
    const registers = this.found.start.registers.slice(), predicates = this.found.start.predicates.slice();
    for (const [, , written, set] of this.found.steps.slice(0, n)) {
      for (const [r, v] of written) registers[r] = v;
      for (const [p, v] of set) predicates[p] = v;
    }
    return { registers: registers.map((v) => this.mine(v)), predicates: predicates.map((m) => this.bit(m)) };
  }

  go(n) {
    const { steps } = this.found;
    this.at = Math.min(Math.max(0, n), steps.length - 1);
    this.slider.value = this.at;
    this.label.textContent = `${this.at + 1} of ${steps.length}`;
    this.lines.forEach((line, i) => line.className = (i === this.at ? "on" : "") + (this.runs(steps[i][1]) ? "" : " idle"));
    if (this.lines[this.at]) this.lines[this.at].scrollIntoView({ block: "nearest" });
    const step = steps[this.at] || [0, "", [], [], 0, null];
    const { registers, predicates } = this.values(this.at);
    const text = this.text.get(step[0]) || "";
    const named = new Set([...text.matchAll(/\bR(\d+)\b/g)].map((m) => Number(m[1])));
    const runs = this.runs(step[1]);
    const writes = new Map(runs ? step[2].map(([r, v]) => [r, this.mine(v)]) : []);
    const row = (name, value, after, on) => make("tr", on ? "on" : "", make("td", "", name), value, make("td", "num", after));
    const cell = (bits) => {
      const td = make("td", "num" + (guess(bits) === "NaN" ? " bad" : ""), guess(bits));
      td.title = hex(bits);
      return td;
    };
    const seen = registers.map((_, r) => r).filter((r) => registers[r] !== 0 || named.has(r) || writes.has(r));
    const rows = seen.map((r) => row(`R${r}`, cell(registers[r]), writes.has(r) ? `\u2192 ${guess(writes.get(r))}` : "", named.has(r)));
    const sets = new Map(runs ? step[3].map(([p, m]) => [p, this.bit(m)]) : []);
    predicates.forEach((p, n) => {
      if (p || sets.has(n) || text.includes(`P${n}`)) rows.push(row(`P${n}`, make("td", "num", p ? "true" : "false"),
        sets.has(n) ? `\u2192 ${sets.get(n) ? "true" : "false"}` : "", text.includes(`P${n}`)));
    });
    const parts = [note(`threads that run ${step[1]}, divergence stack ${step[4]} deep`)];
    if (step[5] && runs) {
      const [space, isWrite, bytes, addresses] = step[5];
      parts.push(note(`${isWrite ? "writes" : "reads"} ${bytes} byte${bytes === 1 ? "" : "s"} of ${space} memory at ${this.mine(addresses)}`));
    }
    if (!runs) parts.push(note("The thread does not execute it."));
    this.state.replaceChildren(...parts,
      tableOf(["", make("th", "num", "before"), make("th", "num", "it writes")], rows));
    this.on.stepped?.(step[0]);
  }
}
