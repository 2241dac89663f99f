// The page: columns, what is lit, keys, search, details.

const KEYS = [
  ["j k, \u2193 \u2191", "next and previous line"],
  ["\u2190 \u2192, [ ]", "previous and next pass"],
  ["h l, Tab", "column to the left, to the right"],
  ["g G", "first and last line"],
  ["Space, PgDn PgUp", "a page on, back"],
  ["/", "search in the columns; Enter goes to the first"],
  ["n N", "next and previous place that was found"],
  ["x X", "next and previous difference"],
  ["c", "control flow graph"],
  ["+ \u2212", "the graph larger, smaller"],
  ["r", "live ranges of registers"],
  ["m", "remarks: what was not done, and why"],
  ["s", "steps of a warp of the test"],
  [", .", "a step back, a step on"],
  ["1 \u2026 4", "hide or show a column"],
  ["d", "dark or light"],
  ["Esc", "let go: selection, search, panels"],
];

const $ = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.query = "";
    this.hovered = null;
    this.pinned = null;
    this.lit = null;
    this.lists = [];
    this.active = null;
    this.side = 0;
    this.step = 0;
    this.source = 0;
    this.stepper = null;
    this.remarks = new Map();
    for (const side of sides) {
      side.most = Math.max(1, ...chunkMax(side.code.alive));
      side.heat = side.code.counts ? Math.max(...chunkMax(side.code.counts.issues)) : 0;
      for (const r of side.data.remarks) {
        const key = placeKey[r.place];
        if (!this.remarks.has(key)) this.remarks.set(key, []);
        if (!this.remarks.get(key).some((x) => x.message === r.message && x.pass === r.pass)) this.remarks.get(key).push(r);
      }
    }
    $("title").textContent = data.title.split("/").pop();
    $("title").title = data.title;
    this.graph = new Graph(this, $("graph"));
    this.build();
    this.tools();
    this.restore();
    this.relight();
    window.addEventListener("resize", () => this.redraw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolor());
  }

  recolor() {
    colors = new Map();
    this.redraw();
  }

  remarksOf(key) { return this.remarks.get(key) || []; }

  build() {
    const columns = $("columns");
    const error = data.error || sides.map((s) => s.data.error).find((e) => e);
    if (error) columns.append(element("pre", { class: "error", role: "alert" }, error));
    const add = (name, side) => {
      const list = new List(this, name, side);
      this.lists.push(list);
      columns.append(list.box);
      return list;
    };
    if (data.sources.length) {
      this.sourceList = add("source", null);
      this.chooser(this.sourceList, data.sources.map((s) => s.name), (n) => { this.source = n; this.showSource(); });
      this.showSource();
    }
    this.ir = sides.map((s, n) => n).filter((n) => sides[n].steps.length);
    if (this.ir.length) {
      this.irList = add("ir", null);
      this.chooser(this.irList, this.ir.map((n) => sides[n].data.title), (n) => {
        this.side = this.ir[n];
        this.fillSteps();
        this.showStep(this.step);
      });
      this.steps = element("select", { id: "step", "aria-label": "Pass" });
      this.steps.addEventListener("change", () => this.showStep(this.steps.selectedIndex));
      const button = (text, title, by) => {
        const b = element("button", { title }, text);
        b.addEventListener("click", () => this.showStep(this.step + by));
        return b;
      };
      this.irList.tools.append(button("\u2039", "Previous pass (\u2190)", -1), this.steps, button("\u203a", "Next pass (\u2192)", 1));
      this.side = this.ir[0];
      this.fillSteps();
      this.showStep(sides[this.side].steps.length - 1);
    }
    this.codeLists = [];
    codeRows().forEach((rows, n) => {
      if (!sides[n].code.pc.length) return;
      const list = add("sass", sides[n]);
      list.head.prepend("SASS ", element("span", { class: "name" }, sides[n].data.title));
      list.set(rows);
      this.codeLists.push(list);
    });
    for (const list of this.lists) {
      list.body.addEventListener("focus", () => this.activate(list));
    }
    this.active = this.lists[0] || null;
    this.facts();
    this.redraw();
  }

  chooser(list, names, chosen) {
    const title = list.name === "source" ? "Source" : "IR";
    list.head.prepend(title + " ");
    if (names.length > 1) {
      const select = element("select", { "aria-label": title }, ...names.map((n) => element("option", {}, n)));
      select.addEventListener("change", () => chosen(select.selectedIndex));
      list.tools.append(select);
    } else if (list.name === "source") {
      list.tools.append(element("span", { class: "name" }, names[0].split("/").pop()));
    }
  }

  facts() {
    const box = $("sides");
    for (const side of sides) {
      const line = element("div", { class: "facts" }, element("b", {}, side.data.title), " ", element("span", { class: "entry" }, side.data.entry));
      for (const [name, value, help] of side.data.facts) {
        line.append(element("span", { class: "fact", title: help }, element("i", {}, name), " " + value));
      }
      if (side.data.counts) {
        const c = side.data.counts;
        const cls = c.outcome === "passed" ? "fact" : "fact bad";
        const said = ` ${c.test}: ${c.outcome.split(":")[0]}`;
        line.append(element("span", { class: cls, title: c.outcome }, element("i", {}, "test"), said));
      }
      box.append(line);
    }
  }

  showSource() { this.sourceList.set(new SourceRows(this.source)); }

  fillSteps() {
    const list = sides[this.side].steps.map((s, n) => element("option", {},
      `${n + 1}. ${s.name} (${s.phase})` + (n ? `  +${s.added} \u2212${s.removed}` : `  ${s.lines.length} lines`)));
    this.steps.replaceChildren(...list);
  }

  showStep(n) {
    const side = sides[this.side];
    const step = Math.max(0, Math.min(side.steps.length - 1, n));
    this.step = step;
    this.steps.selectedIndex = step;
    this.irList.set(side.views[step]);
    const lit = this.pinned;
    if (lit && lit.key) this.irList.revealKey(lit.key);
    this.searched();
    this.detail();
    this.save();
  }

  // The row under the pointer.
  hover(list, row) {
    const old = this.hovered;
    if (old ? old.list === list && old.row === row : row < 0) return;
    this.hovered = row < 0 ? null : this.what(list, row);
    this.relight();
  }

  what(list, row) { return { list, row, key: list.rows.key(row), place: list.rows.place(row) }; }

  // Makes a row the one that stays lit, and shows what belongs to it in the other columns.
  select(list, row) {
    if (!list.rows.length) return;
    list.cursor = Math.max(0, Math.min(list.rows.length - 1, row));
    this.activate(list);
    this.pinned = this.what(list, list.cursor);
    this.hovered = null;
    list.reveal(list.cursor);
    if (this.sourceList && this.pinned.key && keySource(this.pinned.key) !== this.source) {
      this.source = keySource(this.pinned.key);
      this.showSource();
    }
    for (const other of this.lists) {
      if (other === list || other.box.hidden) continue;
      other.revealKey(this.pinned.key);
      if (other.name === "sass" && list.name === "sass") other.body.scrollTop = list.body.scrollTop;
    }
    this.relight();
    this.save();
  }

  activate(list) {
    if (this.active === list) return;
    this.active = list;
    for (const l of this.lists) l.box.classList.toggle("active", l === list);
    if (document.activeElement !== list.body) list.body.focus({ preventScroll: true });
    this.redraw();
    this.searched();
  }

  relight() {
    this.lit = this.hovered || this.pinned;
    this.redraw();
    this.detail();
    this.graph.light();
  }

  redraw() {
    this.lists.forEach((l) => l.measure());
    for (const list of this.lists) {
      list.box.classList.toggle("active", list === this.active);
      list.draw();
      list.drawRuler();
    }
  }

  // Machine code of two sides goes together.
  scrolled(list) {
    if (!data.pairs || list.name !== "sass" || this.following) return;
    this.following = true;
    for (const other of this.codeLists) {
      if (other !== list && other.body.scrollTop !== list.body.scrollTop) other.body.scrollTop = list.body.scrollTop;
    }
    requestAnimationFrame(() => { this.following = false; });
  }

  // The instruction of a side that is lit, if one is.
  instruction(side) {
    const lit = this.lit;
    if (!lit || lit.list.name !== "sass" || lit.list.side !== side) return null;
    const n = lit.list.rows.order[lit.row];
    return n >= 0 ? n : null;
  }

  showCode(side, n) {
    const list = this.codeLists.find((l) => l.side === side);
    if (list) this.select(list, list.rows.at[n]);
  }

  // What is known of the row that is lit.
  detail() {
    const box = $("detail"), lit = this.lit, parts = [];
    const part = (name, value, cls = "") => parts.push(element("span", { class: "part " + cls }, element("i", {}, name), " ", value));
    if (!lit) {
      box.replaceChildren(element("span", { class: "part" }, "Point at a line to see what it became and where it came from. ? has the keys."));
      return;
    }
    const { list, row, key } = lit;
    if (key) part("line", `${keyLine(key)}: ${(data.sources[keySource(key)].lines[keyLine(key) - 1] || "").trim()}`, "wide");
    if (list.name === "ir" && list.rows.text(row).startsWith("    ")) {
      if (!key) part("line", "none");
      part("as it is since", list.rows.side.since(list.rows.rows[row]));
    }
    if (list.name === "sass" && list.rows.order[row] >= 0) {
      const side = list.side, code = side.code, n = list.rows.order[row];
      const made = side.made(n);
      if (made) part("there as", made);
      else if (!key && side.steps.length) part("line", "none");
      part("at", code.pc[n].toString(16).padStart(4, "0"));
      part("word", code.word[n]);
      if (code.issue) {
        const c = code.issue.count[n];
        if (c !== null) part("issue", c === 0 ? "together with the next" : `next after ${c} cycle${c === 1 ? "" : "s"}`);
        if (code.issue.cycle[n] !== null) part("cycle", `${code.issue.cycle[n]}`);
        if (side.why(n)) part("waits for", side.why(n));
      }
      part("alive", `${code.alive[n]} registers`);
      if (code.counts) {
        const c = code.counts;
        part("executed", `${c.issues[n]} times by warps, ${c.threads[n]} by threads`);
        if (c.transactions[n]) part("transactions", String(c.transactions[n]));
        if (c.conflicts[n]) part("bank conflicts", String(c.conflicts[n]));
      }
    }
    if (key) {
      for (const side of sides) {
        if (side.data.source !== keySource(key)) continue;
        const h = side.history(key);
        part(sides.length > 1 ? side.data.title : "became", fate(side, h));
      }
      for (const r of this.remarksOf(key)) part(r.pass, r.message, "remark");
    }
    if (list.name === "ir") {
      const notes = sides[this.side].steps[this.step].notes;
      if (notes.length) part("pass", notes.slice(0, 3).join("; ") + (notes.length > 3 ? "; \u2026" : ""));
    }
    box.replaceChildren(...parts);
  }

  // Keys and buttons.
  tools() {
    const input = $("search");
    input.addEventListener("input", () => {
      this.query = input.value.trim().toLowerCase();
      for (const list of this.lists) list.search(this.query);
      this.searched();
      this.redraw();
    });
    input.addEventListener("keydown", (e) => {
      if (e.key === "Enter") {
        const found = this.active && this.active.matches.length ? this.active : this.lists.find((l) => l.matches.length && !l.box.hidden);
        if (found) {
          const first = found.matches.find((i) => i >= found.cursor);
          this.select(found, first === undefined ? found.matches[0] : first);
          found.body.focus({ preventScroll: true });
          this.searched();
        }
        e.preventDefault();
      } else if (e.key === "Escape") {
        input.value = "";
        input.dispatchEvent(new Event("input"));
        if (this.active) this.active.body.focus({ preventScroll: true });
      }
      e.stopPropagation();
    });
    const on = (id, f) => $(id).addEventListener("click", f);
    on("toggle-graph", () => this.toggleGraph());
    on("toggle-ranges", () => this.toggleRanges());
    on("toggle-remarks", () => this.toggleRemarks());
    on("toggle-steps", () => this.toggleSteps());
    on("toggle-dark", () => this.toggleDark());
    on("toggle-help", () => this.help());
    const help = $("help");
    help.append(element("h2", {}, "Keys"), element("table", {}, ...KEYS.map(([k, what]) =>
      element("tr", {}, element("td", {}, element("kbd", {}, k)), element("td", {}, what)))),
      element("p", {}, "In machine code, from left: the source line; with a fixture, how often warps executed it; its address; " +
        "\u23a7 \u23a9 instructions that issue together. On the right: why it is there if no line asked for it, cycles to the next " +
        "instruction, registers alive."));
    help.addEventListener("click", () => help.close());
    document.addEventListener("keydown", (e) => this.key(e));
    this.stored("theme", (t) => { document.documentElement.dataset.theme = t; });
    if (!this.remarks.size) $("toggle-remarks").disabled = true;
    if (!sides.some((s) => s.data.warp)) $("toggle-steps").disabled = true;
    if (!this.codeLists.length) { $("toggle-graph").disabled = true; $("toggle-ranges").disabled = true; }
  }

  stored(name, use) {
    try {
      const value = localStorage.getItem("nvir-" + name);
      if (value) use(value);
    } catch { /* a browser that keeps nothing */ }
  }

  toggleDark() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("nvir-theme", root.dataset.theme); } catch { /* as above */ }
    this.recolor();
  }

  toggleGraph() {
    const box = $("graph");
    box.hidden = !box.hidden;
    $("toggle-graph").classList.toggle("on", !box.hidden);
    document.body.classList.toggle("with-graph", !box.hidden);
    if (!box.hidden) {
      const list = this.active && this.active.name === "sass" ? this.active : this.codeLists[0];
      if (list) this.graph.show(list.side);
    }
    this.redraw();
  }

  toggleRanges() {
    for (const list of this.codeLists) list.strip.hidden = !list.strip.hidden;
    $("toggle-ranges").classList.toggle("on", this.codeLists.some((l) => !l.strip.hidden));
    this.redraw();
  }

  toggleRemarks() {
    const box = $("remarks");
    box.hidden = !box.hidden;
    $("toggle-remarks").classList.toggle("on", !box.hidden);
    if (!box.hidden && !box.childElementCount) {
      for (const side of sides) {
        if (!side.data.remarks.length) continue;
        box.append(element("h2", {}, `Remarks of ${side.data.title}`));
        for (const r of side.data.remarks) {
          const key = placeKey[r.place];
          const no = element("span", { class: "no" }, key ? String(keyLine(key)) : "");
          const b = element("button", { class: "line" }, no, element("i", {}, r.pass), " " + r.message);
          b.addEventListener("click", () => {
            if (!key || !this.sourceList) return;
            if (keySource(key) !== this.source) { this.source = keySource(key); this.showSource(); }
            this.select(this.sourceList, keyLine(key) - 1);
          });
          box.append(b);
        }
      }
    }
    this.redraw();
  }

  // Shows the steps of a warp; the machine code goes along.
  toggleSteps() {
    const box = $("warp");
    box.hidden = !box.hidden;
    $("toggle-steps").classList.toggle("on", !box.hidden);
    if (box.hidden) {
      this.stepper = null;
    } else {
      const side = sides.find((s) => s.data.warp);
      const go = (pc) => {
        const n = side.code.pc.indexOf(pc);
        if (n >= 0) this.showCode(side, n);
      };
      this.stepper = new Steps({ close: () => this.toggleSteps(), stepped: go }, side.data.warp.found, side.data.warp.title);
      box.replaceChildren(this.stepper.element);
      this.stepper.go(0);
    }
    this.redraw();
  }

  help() {
    const box = $("help");
    if (box.open) box.close(); else box.showModal();
  }

  // Says how much was found, in which column.
  searched() {
    const out = $("found");
    if (!this.query) { out.textContent = ""; return; }
    const names = { source: "source", ir: "IR", sass: "SASS" };
    out.textContent = this.lists.map((l) => {
      const at = l === this.active ? l.matches.indexOf(l.cursor) : -1;
      return `${names[l.name]} ${at >= 0 ? at + 1 + "/" : ""}${l.matches.length}`;
    }).join(" \u00b7 ");
  }

  // The next of some rows behind the cursor, or before it.
  goOn(rows, forward) {
    const list = this.active;
    if (!list || !rows.length) return;
    const after = rows.findIndex((i) => i > list.cursor);
    let at;
    if (forward) at = after < 0 ? 0 : after;
    else {
      const notBefore = rows.findIndex((i) => i >= list.cursor);
      at = (notBefore < 0 ? rows.length : notBefore) - 1;
      if (at < 0) at = rows.length - 1;
    }
    this.select(list, rows[at]);
    this.searched();
  }

  found(forward) {
    if (this.active && !this.active.matches.length) {
      const other = this.lists.find((l) => l.matches.length && !l.box.hidden);
      if (other) this.activate(other);
    }
    if (this.active) this.goOn(this.active.matches, forward);
  }

  differences(forward) {
    const list = this.active;
    if (!list) return;
    const rows = [];
    for (let i = 0; i < list.rows.length; i++) {
      if (list.rows.mark(i) !== SAME && (i === 0 || list.rows.mark(i - 1) === SAME)) rows.push(i);
    }
    this.goOn(rows, forward);
  }

  move(by) {
    const shown = this.lists.filter((l) => !l.box.hidden);
    const at = shown.indexOf(this.active);
    const next = shown[(at + by + shown.length) % shown.length];
    if (next) {
      this.activate(next);
      if (this.pinned) next.revealKey(this.pinned.key);
    }
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target.closest && e.target.closest("select, input, textarea")) return;
    const list = this.active;
    if ($("help").open) {
      if (e.key === "?" || e.key === "q") $("help").close();
      return;
    }
    const page = list ? Math.max(1, Math.floor(list.body.clientHeight / ROW) - 2) : 1;
    const go = (by) => list && this.select(list, list.cursor + (this.pinned || by !== 1 ? by : 0));
    const act = {
      j: () => go(1), ArrowDown: () => go(1), k: () => go(-1), ArrowUp: () => go(-1),
      " ": () => go(page), PageDown: () => go(page), PageUp: () => go(-page),
      g: () => list && this.select(list, 0), G: () => list && this.select(list, list.rows.length - 1),
      Home: () => list && this.select(list, 0), End: () => list && this.select(list, list.rows.length - 1),
      ArrowLeft: () => this.irList && this.showStep(this.step - 1), ArrowRight: () => this.irList && this.showStep(this.step + 1),
      "[": () => this.irList && this.showStep(this.step - 1), "]": () => this.irList && this.showStep(this.step + 1),
      h: () => this.move(-1), l: () => this.move(1), Tab: () => this.move(e.shiftKey ? -1 : 1),
      "/": () => { $("search").focus(); $("search").select(); },
      n: () => this.found(true), N: () => this.found(false),
      x: () => this.differences(true), X: () => this.differences(false),
      c: () => !$("toggle-graph").disabled && this.toggleGraph(), r: () => !$("toggle-ranges").disabled && this.toggleRanges(),
      m: () => !$("toggle-remarks").disabled && this.toggleRemarks(),
      s: () => !$("toggle-steps").disabled && this.toggleSteps(),
      ",": () => this.stepper && this.stepper.go(this.stepper.at - 1), ".": () => this.stepper && this.stepper.go(this.stepper.at + 1),
      d: () => this.toggleDark(), "?": () => this.help(),
      "+": () => this.graph.setZoom(this.graph.zoom * 1.25), "-": () => this.graph.setZoom(this.graph.zoom / 1.25),
      Escape: () => this.letGo(),
    }[e.key];
    if (act) {
      act();
      e.preventDefault();
    } else if (/^[1-9]$/.test(e.key) && this.lists[e.key - 1]) {
      const column = this.lists[e.key - 1];
      column.box.hidden = !column.box.hidden;
      if (column.box.hidden && column === this.active) this.move(1);
      this.redraw();
      e.preventDefault();
    }
  }

  letGo() {
    if (!$("graph").hidden) this.toggleGraph();
    else if (!$("remarks").hidden) this.toggleRemarks();
    else if (!$("warp").hidden) this.toggleSteps();
    else {
      this.pinned = null;
      this.hovered = null;
      $("search").value = "";
      $("search").dispatchEvent(new Event("input"));
      this.relight();
    }
  }

  // Where one was, for a page that is made again.
  save() {
    if (!data.live) return;
    const steps = this.irList ? sides[this.side].steps : [];
    const state = {
      title: data.title,
      step: steps[this.step]?.name,
      last: this.step >= steps.length - 1,
      key: this.pinned ? this.pinned.key : 0,
      scroll: this.lists.map((l) => l.body.scrollTop),
    };
    try { sessionStorage.setItem("nvir-state", JSON.stringify(state)); } catch { /* kept nowhere */ }
  }

  restore() {
    if (!data.live) return;
    let state = null;
    try { state = JSON.parse(sessionStorage.getItem("nvir-state")); } catch { /* kept nowhere */ }
    if (!state || state.title !== data.title) return;
    if (this.irList && !state.last) {
      const n = sides[this.side].steps.findIndex((s) => s.name === state.step);
      if (n >= 0) this.showStep(n);
    }
    this.lists.forEach((l, n) => { l.body.scrollTop = state.scroll[n] || 0; });
    if (state.key && this.sourceList && keyLine(state.key) <= this.sourceList.rows.length) {
      this.select(this.sourceList, keyLine(state.key) - 1);
    }
  }
}

// The largest numbers of a list piece by piece: all at once are too many arguments.
function chunkMax(list) {
  const out = [0];
  for (let k = 0; k < list.length; k += 4096) out.push(Math.max(...list.slice(k, k + 4096)));
  return out;
}

// What became of a source line, in words.
function fate(side, { steps, code }) {
  const first = steps.findIndex((n) => n > 0);
  const instructions = `${code} machine instruction${code === 1 ? "" : "s"}`;
  if (first < 0) return code ? instructions : "nothing: no instruction comes from it";
  const last = steps[steps.length - 1];
  const from = `${steps[first]} in IR (${side.steps[first].name})`;
  if (code || last) return `${from}, ${last} at the end, ${instructions}`;
  let gone = steps.length - 1;
  while (gone > 0 && steps[gone - 1] === 0) gone--;
  return `${from}, none since ${side.steps[gone].name}`;
}

const page = new Page();
window.nvirPage = page;

if (data.live) {
  const look = async () => {
    let wait = 400;
    try {
      const answer = await fetch("version", { cache: "no-store" });
      const version = Number(await answer.text());
      document.body.classList.remove("gone");
      if (answer.ok && version !== data.live) {
        page.save();
        location.reload();
        return;
      }
    } catch {
      document.body.classList.add("gone");
      wait = 3000;
    }
    setTimeout(look, wait);
  };
  setTimeout(look, 400);
}
