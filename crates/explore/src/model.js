"use strict";
// What the page shows, as lists of rows. Data: see data.rs.

const data = JSON.parse(document.getElementById("data").textContent);

// The source line of a place as one number over all sources; 0: none.
const LINES = 1 << 24;
const placeKey = new Float64Array(data.places.length / 3);
for (let p = 1; p < placeKey.length; p++) {
  placeKey[p] = data.places[3 * p] * LINES + data.places[3 * p + 1];
}
const keySource = (key) => Math.floor(key / LINES);
const keyLine = (key) => key % LINES;

const SAME = 0, ADDED = 1, REMOVED = 2, CHANGED = 3;

// Rows, with those of each source line at hand.
class Rows {
  // The rows of a source line.
  of(key) {
    if (!this.byKey) {
      this.byKey = new Map();
      for (let i = 0; i < this.length; i++) {
        const k = this.key(i);
        if (k === 0) continue;
        const list = this.byKey.get(k);
        if (list) list.push(i); else this.byKey.set(k, [i]);
      }
    }
    return this.byKey.get(key) || [];
  }
}

// Rows of a source text.
class SourceRows extends Rows {
  constructor(number) {
    super();
    this.kind = "source";
    this.lines = data.sources[number].lines;
    this.length = this.lines.length;
    this.base = number * LINES;
  }
  text(i) { return this.lines[i]; }
  key(i) { return this.base + i + 1; }
  place() { return 0; }
  mark() { return SAME; }
}

// The IR after a step of a side: its lines, with those that the step removed between them.
class StepRows extends Rows {
  constructor(side, rows, marks) {
    super();
    this.kind = "ir";
    this.side = side;
    this.rows = rows;
    this.marks = marks;
    this.length = rows.length;
  }
  text(i) { return data.texts[this.side.data.ir[2 * this.rows[i]]]; }
  place(i) { return this.side.data.ir[2 * this.rows[i] + 1]; }
  key(i) { return placeKey[this.place(i)]; }
  mark(i) { return this.marks[i]; }
}

// Machine code of a side. `order` has the instruction of each row, -1 where there is none.
class CodeRows extends Rows {
  constructor(side, order, marks) {
    super();
    this.kind = "sass";
    this.side = side;
    this.order = order;
    this.marks = marks;
    this.length = order.length;
    this.at = new Int32Array(side.code.pc.length).fill(-1);
    order.forEach((n, i) => { if (n >= 0) this.at[n] = i; });
  }
  text(i) { return this.order[i] < 0 ? "" : this.side.codeText(this.order[i]); }
  place(i) { return this.order[i] < 0 ? 0 : this.side.code.place[this.order[i]]; }
  key(i) { return placeKey[this.place(i)]; }
  mark(i) { return this.marks ? this.marks[i] : SAME; }
}

class Side {
  constructor(d, number) {
    this.data = d;
    this.number = number;
    this.code = d.sass;
    this.steps = [];
    this.views = [];
    let before = [];
    d.steps.forEach((step, s) => {
      const now = [], rows = [], marks = [];
      let at = 0, added = 0, removed = 0;
      for (let k = 0; k < step.ops.length;) {
        const keep = step.ops[k], drop = step.ops[k + 1], add = step.ops[k + 2];
        k += 3;
        for (let j = 0; j < keep; j++, at++) { now.push(before[at]); rows.push(before[at]); marks.push(SAME); }
        for (let j = 0; j < drop; j++, at++) { rows.push(before[at]); marks.push(REMOVED); }
        for (let j = 0; j < add; j++, k++) {
          now.push(step.ops[k]); rows.push(step.ops[k]); marks.push(s === 0 ? SAME : ADDED);
        }
        removed += drop; added += add;
      }
      this.steps.push({ name: step.name, phase: step.phase, notes: step.notes, lines: now, added, removed });
      this.views.push(new StepRows(this, Uint32Array.from(rows), Uint8Array.from(marks)));
      before = now;
    });
  }
  codeText(n) { return data.texts[this.code.text[n]]; }
  made(n) { return data.texts[this.code.made[n]]; }
  why(n) { return this.code.issue ? data.texts[this.code.issue.why[n]] : ""; }
  // The step that made an IR line what it is.
  since(line) {
    if (!this.firsts) {
      this.firsts = new Map();
      this.steps.forEach((s, at) => s.lines.forEach((x) => { if (!this.firsts.has(x)) this.firsts.set(x, at); }));
    }
    return this.steps[this.firsts.get(line)].name;
  }
  // Instructions of each step, and of the machine code, that come from a source line.
  history(key) {
    if (!this.histories) {
      this.histories = new Map();
      const add = (k, at) => {
        if (k === 0) return;
        if (!this.histories.has(k)) this.histories.set(k, new Uint32Array(this.steps.length + 1));
        this.histories.get(k)[at]++;
      };
      this.steps.forEach((s, at) => s.lines.forEach((line) => add(placeKey[this.data.ir[2 * line + 1]], at)));
      this.code.place.forEach((p) => add(placeKey[p], this.steps.length));
    }
    const all = [...(this.histories.get(key) || new Uint32Array(this.steps.length + 1))];
    return { code: all.pop(), steps: all };
  }
  // Whether an instruction issues together with the next.
  dual(n) { return this.code.issue !== null && this.code.issue.count[n] === 0; }
}

const sides = data.sides.map((d, n) => new Side(d, n));

// Machine code of all sides; of two, in rows beside each other.
function codeRows() {
  if (!data.pairs) {
    return sides.map((s) => new CodeRows(s, Int32Array.from(s.code.pc.keys()), null));
  }
  const [a, b] = sides;
  const n = data.pairs.length / 2;
  const orders = [new Int32Array(n), new Int32Array(n)], marks = [new Uint8Array(n), new Uint8Array(n)];
  const plain = (text) => text.replace(/\.L_[0-9a-f]+/g, ".L");
  for (let i = 0; i < n; i++) {
    const [x, y] = [data.pairs[2 * i], data.pairs[2 * i + 1]];
    orders[0][i] = x;
    orders[1][i] = y;
    const same = x >= 0 && y >= 0 && plain(a.codeText(x)) === plain(b.codeText(y));
    marks[0][i] = same ? SAME : y < 0 ? REMOVED : CHANGED;
    marks[1][i] = same ? SAME : x < 0 ? ADDED : CHANGED;
  }
  return sides.map((s, k) => new CodeRows(s, orders[k], marks[k]));
}
