// What is told beside the picture: state, vertices, programs, registers, the history of a pixel, the steps of a thread.

// State of a draw, with what is not as at the draw before.
function statePanel(command, before) {
  const old = new Map((before ? before.state : []).map(([g, n, v]) => [g + "\n" + n, v]));
  const out = [countsTable(command)];
  if (!command.state.length) {
    out.push(note(command.kind === "draw" ? "Nothing is known of its state." : "Only draws have state of their own here."));
    return out;
  }
  const rows = [];
  let group = null;
  for (const [g, name, value] of command.state) {
    if (g !== group) {
      group = g;
      const head = make("td", "", g);
      head.colSpan = 3;
      rows.push(make("tr", "group", head));
    }
    const was = old.get(g + "\n" + name);
    const changed = before && was !== value;
    rows.push(make("tr", changed ? "changed" : "", make("td", "", name), make("td", "wide", value),
      make("td", "wide note", changed ? `was ${was === undefined ? "not there" : was}` : "")));
  }
  out.push(tableOf(null, rows));
  if (before) out.push(note(`Marked: what is not as at draw ${before.number}, the one before.`));
  return out;
}

function countsTable(command) {
  const rows = [["submission", String(command.submission)], ["method", `${command.method} at ${command.address}`]];
  for (const [name, value] of command.counts) if (value) rows.push([name, value.toLocaleString("en")]);
  for (const p of command.programs) {
    rows.push([`${p.stage} program`, `${p.instructions.toLocaleString("en")} instructions of threads, at ${data.programs[p.program].address}`]);
  }
  return tableOf(null, rows);
}

function registersPanel(command) {
  if (!command.registers.length) return [note("No register is known to have changed since the draw before.")];
  return [tableOf(["register", "before", "now"], command.registers)];
}

// Vertices of each stage: what it read, and what it left.
function verticesPanel(command, page) {
  if (!command.vertices.length) return [note("No vertices: nothing came to the stages.")];
  const out = [];
  for (const v of command.vertices) {
    const columns = [];
    for (const [kind, side] of [["in", v.inputs], ["out", v.outputs]]) {
      if (!side) continue;
      for (const [name, words] of side.columns) columns.push({ kind, name, words: wordsOf(words) });
    }
    out.push(make("h3", "", `${v.stage} stage`));
    const shown = v.outputs.rows;
    out.push(note(shown < v.total ? `The first ${shown} of ${v.total} vertices.` : `${v.total} vertices.`));
    const heads = [make("th", "num", "#"), ...columns.map((c) => make("th", "num", `${c.kind} ${c.name}`))];
    const rows = [];
    for (let i = 0; i < shown; i++) {
      const cells = columns.map((c) => {
        const text = guess(c.words[i]);
        const td = make("td", "num" + (text === "NaN" ? " bad" : ""), text);
        td.title = hex(c.words[i]);
        return td;
      });
      const tr = make("tr", data.live && v.stage === "vert" ? "click" : "", make("td", "num", String(i)), ...cells);
      if (data.live && v.stage === "vert") {
        tr.title = "Steps of this vertex's thread";
        tr.onclick = () => page.steps({ command: command.number, stage: "vert", launch: 0, warp: i >> 5, lane: i & 31 }, `vertex ${i}`);
      }
      rows.push(tr);
    }
    out.push(tableOf(heads, rows));
  }
  for (const w of command.wire) {
    const count = wordsOf(w.rows).length / w.size;
    if (count < w.total) out.push(note(`Outlines: the first ${count} of ${w.total} primitives.`));
  }
  return out;
}

function programsPanel(command) {
  if (!command.programs.length) return [note("No program ran.")];
  return command.programs.flatMap((p) => {
    const program = data.programs[p.program];
    const lines = program.lines.map(([pc, text]) => `${pc.toString(16).padStart(4, "0")}  ${text}`);
    return [make("h3", "", `${p.stage} program at ${program.address}, ${lines.length} instructions`), make("pre", "", lines.join("\n"))];
  });
}

// The fragments of a pixel in order.
function pixelPanel(page) {
  const at = page.picked;
  if (!at) return [note("Click a pixel of the picture: here is every fragment that touched it, in order.")];
  const out = [make("h3", "", `pixel (${at[0]}, ${at[1]})`)];
  if (page.history === null) return [...out, note("Looking for its fragments\u2026")];
  if (typeof page.history === "string") return [...out, note(page.history)];
  if (!page.history.length) return [...out, note("No fragment touched it.")];
  // Those of other targets have the same place by chance.
  const here = (f) => {
    const command = data.commands[commandByNumber.get(f.command)];
    return !command || command.targets.includes(page.view.target);
  };
  const mine = page.history.filter(here);
  if (!mine.length) out.push(note("No fragment of this target touched it."));
  for (const f of mine) out.push(fragmentBox(f, page));
  const others = page.history.length - mine.length;
  if (others) out.push(note(`Fragments there of other targets: ${others}.`));
  return out;
}

function fragmentBox(f, page) {
  const index = commandByNumber.get(f.command);
  const command = data.commands[index];
  const good = f.outcome === "written";
  const head = make("div", "head", make("b", "", `draw ${f.command}`), make("span", good ? "good" : "bad", f.outcome),
    `primitive ${f.primitive}, ${f.front ? "front" : "back"}`, f.layer ? `layer ${f.layer}` : null);
  const go = make("button", "", "Go to it");
  go.onclick = () => page.select(index);
  head.append(go);
  if (f.thread && (f.steps || data.live)) {
    const steps = make("button", "", "Steps");
    steps.onclick = () => {
      const [launch, warp, lane] = f.thread;
      const where = { command: f.command, stage: "frag", launch, warp, lane, x: f.at[0], y: f.at[1] };
      page.steps(f.steps || where, `fragment of draw ${f.command}`);
    };
    head.append(steps);
  }
  const rows = [];
  const numbers = (values, format) => values.map((v) => {
    const text = format ? channelText(format, v) : guess(v);
    const e = make("span", text === "NaN" ? "bad" : "", text);
    e.title = hex(v);
    return e;
  });
  const list = (elements) => elements.flatMap((e, i) => i ? [", ", e] : [e]);
  if (f.cover[0] > 1) rows.push(["samples", `covered ${f.cover[0].toString(2)}, written ${f.cover[1].toString(2)}`]);
  let attribute = null;
  for (const [name, bits] of f.inputs) {
    const base = name.split(".")[0];
    if (attribute && attribute.base === base) attribute.bits.push(bits);
    else rows.push(attribute = { base, bits: [bits] });
  }
  const targets = command ? command.targets.map((n) => data.targets[n]) : [];
  const colors = targets.filter((t) => !t.planes.includes("depth"));
  f.texels.forEach(([before, after], n) => {
    const format = colors[n] ? colors[n].format : "";
    const swatch = (texel) => {
      const e = make("span", "swatch");
      e.style.background = colorOf(format, texel);
      return e;
    };
    if (f.colors[n]) rows.push([`output ${n}`, make("span", "", ...list(numbers(f.colors[n], format)))]);
    rows.push([`color ${n} before`, make("span", "", swatch(before), ...list(numbers(before, format)))]);
    rows.push([`color ${n} after`, make("span", "", swatch(after), ...list(numbers(after, format)))]);
  });
  rows.push(["depth of it", floatText(f.depth)]);
  if (f.zeta) {
    rows.push(["depth before", floatText(f.zeta[0][0])], ["depth after", floatText(f.zeta[1][0])]);
    if (f.zeta[0][1] || f.zeta[1][1]) rows.push(["stencil", `${f.zeta[0][1]}, then ${f.zeta[1][1]}`]);
  }
  const lines = rows.map((r) => Array.isArray(r) ? r : [`in ${r.base}`, make("span", "", ...list(numbers(r.bits)))]);
  return make("div", "fragment" + (index === page.index ? " on" : ""), head, tableOf(null, lines));
}
