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
    const cycles = p.profile ? `, ${cyclesOf(p).toLocaleString("en")} estimated cycles` : "";
    rows.push([`${p.stage} program`, `${p.instructions.toLocaleString("en")} instructions of threads${cycles}, at ${data.programs[p.program].address}`]);
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

// What each program read: textures as pictures, samplers, constant banks.
function resourcesPanel(command) {
  const out = [];
  for (const p of command.programs) {
    const { textures, samplers, banks } = p.reads;
    out.push(make("h3", "", `${p.stage} program`));
    for (const [entry, number] of textures) out.push(textureBox(entry, data.textures[number]));
    for (const [entry, fields] of samplers) {
      out.push(make("h4", "", `sampler ${entry}`), tableOf(null, fields));
    }
    for (const bank of banks) out.push(bankBox(bank, data.programs[p.program]));
    if (!textures.length && !banks.length) out.push(note("It has read no texture, and no constant bank is bound."));
  }
  if (!out.length) out.push(note(command.kind === "draw" || command.kind === "launch" ? "No program ran." : "Only programs read textures and constant banks."));
  return out;
}

function textureBox(entry, t) {
  const [width, height, depth] = t.size;
  const size = t.shape === "buffer" || t.shape === "1D" ? `${width}` : depth > 1 ? t.size.join("\u00d7") : `${width}\u00d7${height}`;
  const facts = [t.format, t.shape, size, t.levels > 1 ? `${t.levels} levels` : null, t.samples > 1 ? `${t.samples} samples` : null, `at ${t.address}`];
  const box = make("div", "texture", make("h4", "", `texture ${entry}: ${facts.filter((f) => f).join(", ")}`));
  if (t.pictures.length) {
    const select = make("select");
    select.setAttribute("aria-label", "Level, layer and plane");
    t.pictures.forEach((p, n) => {
      const name = [`level ${p.level}`, t.pictures.some((q) => q.layer) ? `layer ${p.layer}` : null, p.plane, p.size.join("\u00d7")];
      const option = make("option", "", name.filter((x) => x).join(", "));
      option.value = String(n);
      select.append(option);
    });
    const image = make("img"), said = note("");
    const show = () => {
      const p = t.pictures[select.value];
      image.src = "data:image/png;base64," + p.png;
      image.alt = `${t.format} ${p.size.join("\u00d7")}`;
      // Small ones are enlarged by whole numbers.
      image.style.width = p.size[0] * Math.max(1, Math.floor(192 / Math.max(...p.size))) + "px";
      const rows = t.shape === "buffer" ? `rows of ${p.size[0] * p.step} texels` : "the first row is the top one";
      said.textContent = p.step > 1 ? `Every ${p.step}th texel in x and y; ${rows}.` : `${rows[0].toUpperCase()}${rows.slice(1)}.`;
    };
    select.onchange = show;
    select.value = "0";
    show();
    box.append(select, image, said);
  }
  if (t.left) box.append(note(`Not all of it: ${t.left}.`));
  return box;
}

// The first words of a constant bank; those that the program names are marked.
function bankBox([index, address, size, content], program) {
  const head = make("h4", "", `c[${index}]: ${size} bytes at ${address}`);
  if (content === null) return make("div", "", head, note("Its words are not in the page: they do not lie in memory, or there are too many of them."));
  const words = wordsOf(data.constants[content]);
  const named = new Set();
  const start = `c[0x${index.toString(16)}][`;
  for (const [, text] of program.lines) {
    for (let at = text.indexOf(start); at >= 0; at = text.indexOf(start, at + 1)) {
      const offset = Number(text.slice(at + start.length).split("]")[0]);
      if (!Number.isNaN(offset)) named.add(offset & ~3);
    }
  }
  const rows = [];
  let idle = 0;
  for (let i = 0; i < words.length; i += 4) {
    const four = [...words.slice(i, i + 4)];
    const uses = four.some((_, c) => named.has(4 * (i + c)));
    if (!uses && four.every((w) => w === 0)) {
      idle++;
      continue;
    }
    const cells = four.map((w, c) => {
      const td = make("td", "num" + (named.has(4 * (i + c)) ? " read" : ""), guess(w));
      td.title = hex(w);
      return td;
    });
    rows.push(make("tr", "", make("td", "num", "0x" + (4 * i).toString(16)), ...cells));
  }
  const out = make("div", "bank", head);
  if (rows.length) out.append(tableOf(null, rows));
  const said = [];
  if (named.size) said.push("Marked: words that the program names.");
  if (idle) said.push(`Rows of zeros that are left out: ${idle}.`);
  if (4 * words.length < size) said.push(`The first ${4 * words.length} of ${size} bytes.`);
  if (said.length) out.append(note(said.join(" ")));
  return out;
}

function programsPanel(command) {
  if (!command.programs.length) return [note("No program ran.")];
  return command.programs.flatMap((p) => {
    const program = data.programs[p.program];
    const at = (pc) => pc.toString(16).padStart(4, "0");
    const head = make("h3", "", `${p.stage} program at ${program.address}, ${program.lines.length} instructions`);
    if (!p.profile) return [head, make("pre", "", program.lines.map(([pc, text]) => `${at(pc)}  ${text}`).join("\n"))];
    const counts = new Map(p.profile.map(([pc, ...counts]) => [pc, counts]));
    const all = cyclesOf(p);
    const rows = program.lines.map(([pc, text]) => {
      const [issues, threads, cycles] = counts.get(pc) || [0, 0, 0];
      const share = make("td", "num", all ? `${(100 * cycles / all).toFixed(1)} %` : "");
      return make("tr", issues ? "" : "idle", ...[cycles, issues, threads].map(counted), share, make("td", "code", `${at(pc)}  ${text}`));
    });
    const heads = ["cycles", "issues", "threads", "share"].map((name) => make("th", "num", name));
    const table = tableOf([...heads, "instruction"], rows);
    return [head, note(`${all.toLocaleString("en")} estimated cycles, all warps one after the other.`), table];
  });
}

// A cell with a number.
function counted(number) {
  return make("td", "num", number.toLocaleString("en"));
}

// Estimated cycles of a program that was profiled.
function cyclesOf(program) {
  return program.profile.reduce((sum, [, , , cycles]) => sum + cycles, 0);
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
