// The page: the list of commands, what is chosen, keys.

const KEYS = [
  ["j k, \u2193 \u2191", "next and previous command"],
  ["J K", "next and previous draw"],
  ["g G", "first and last command"],
  ["/", "filter the commands by their text"],
  ["b a c", "the target before, after, what was changed"],
  ["w", "outlines of the primitives"],
  ["t p", "next target, next of colour, alpha, depth, stencil"],
  ["r", "stretch the values that occur to the whole range"],
  ["+ \u2212 0", "larger, smaller, all of it"],
  ["1 \u2026 6", "state, vertices, resources, programs, registers, pixel"],
  [", .", "a step back, a step on"],
  ["d", "dark or light"],
  ["Esc", "let go of the pixel"],
];

const TABS = ["State", "Vertices", "Resources", "Programs", "Registers", "Pixel"];
const PIXEL = TABS.indexOf("Pixel");

class Page {
  constructor() {
    this.index = 0;
    this.picked = null;
    this.history = [];
    this.tab = 0;
    this.stepper = null;
    this.fragments = new Fragments(data.fragments);
    this.rows = [];
    $("title").textContent = data.title;
    this.view = new View(this);
    this.list();
    this.tools();
    this.facts();
    const first = data.commands.findIndex((c) => c.kind === "draw");
    this.select(Math.max(0, first));
    this.view.fit();
    this.show();
    this.hover(null);
    this.follow();
    window.addEventListener("hashchange", () => this.follow());
    window.addEventListener("resize", () => this.view.cross());
  }

  // What an address says behind its #: command=12, tab=vertices, shown=before, wire=1, pixel=120,80.
  follow() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    if (wanted.has("command")) this.select(commandByNumber.get(Number(wanted.get("command"))) || 0);
    if (wanted.has("shown")) this.show({ shown: wanted.get("shown") });
    if (wanted.has("wire")) this.show({ wire: wanted.get("wire") !== "0" });
    const tab = TABS.findIndex((name) => name.toLowerCase() === wanted.get("tab"));
    if (tab >= 0) this.open(tab);
    const [x, y] = (wanted.get("pixel") || "").split(",").map(Number);
    if (y >= 0) this.pick(x, y);
  }

  get command() { return data.commands[this.index]; }

  // The draw before the chosen command.
  get before() {
    for (let i = this.index - 1; i >= 0; i--) if (data.commands[i].kind === "draw") return data.commands[i];
    return null;
  }

  facts() {
    const draws = data.commands.filter((c) => c.kind === "draw").length;
    const parts = [`${data.commands.length} commands, ${draws} draws`];
    if (data.first) parts.push(`from command ${data.first}`);
    if (data.more) parts.push(`${data.more} more behind them are not shown`);
    $("facts").append(...parts.map((p) => make("span", "", p)));
    if (data.ended) $("facts").append(make("span", "bad", data.ended));
  }

  list() {
    let submission = null;
    for (const [i, c] of data.commands.entries()) {
      if (c.submission !== submission) {
        submission = c.submission;
        $("commands").append(make("div", "submission", `submission ${submission}`));
      }
      const nothing = c.kind === "draw" && !c.patches.some((p) => !p.before);
      const row = make("div", `command ${c.kind}${nothing ? " nothing" : ""}`, make("span", "n", String(c.number)),
        make("span", "kind", c.kind), make("span", "title", this.titleOf(c)));
      row.title = c.title + (nothing ? "; it changes no pixel" : "");
      row.onclick = () => this.select(i);
      this.rows.push(row);
      $("commands").append(row);
    }
  }

  titleOf(c) {
    const count = (name) => (c.counts.find((x) => x[0] === name) || [0, 0])[1];
    return c.kind === "draw" ? `${c.title}, ${count("fragments")} fragments` : c.title;
  }

  tools() {
    const click = (id, f) => $(id).addEventListener("click", f);
    for (const shown of ["before", "after", "change"]) click(`show-${shown}`, () => this.show({ shown }));
    click("toggle-wire", () => this.show({ wire: !this.view.wire }));
    click("toggle-range", () => this.show({ stretch: !this.view.stretch }));
    click("zoom-in", () => this.zoom(1));
    click("zoom-out", () => this.zoom(-1));
    click("toggle-dark", () => this.dark());
    click("toggle-help", () => this.help());
    $("target").addEventListener("change", () => {
      const [target, layer] = $("target").value.split("/").map(Number);
      this.show({ target, layer });
    });
    $("plane").addEventListener("change", () => this.show({ plane: $("plane").value }));
    $("search").addEventListener("input", () => this.filter());
    TABS.forEach((name, n) => {
      const b = make("button", "", name);
      b.setAttribute("role", "tab");
      b.id = "tab-" + name.toLowerCase();
      b.addEventListener("click", () => this.open(n));
      $("tabs").append(b);
    });
    document.addEventListener("keydown", (e) => this.key(e));
  }

  filter() {
    const text = $("search").value.toLowerCase();
    data.commands.forEach((c, i) => {
      this.rows[i].hidden = !`${c.number} ${c.kind} ${this.titleOf(c)}`.toLowerCase().includes(text);
    });
  }

  // Chooses a command; the picture goes to a target of it.
  select(index) {
    this.index = Math.min(Math.max(0, index), data.commands.length - 1);
    this.rows.forEach((row, i) => row.classList.toggle("on", i === this.index));
    this.rows[this.index].scrollIntoView({ block: "nearest" });
    const c = this.command;
    const mine = c.targets.length ? c.targets : [...new Set(c.patches.map((p) => p.target))];
    const options = [];
    if (mine.length && !mine.includes(this.view.target)) options.push(mine[0]);
    this.show(options.length ? { target: options[0], layer: data.targets[options[0]].layers[0] || 0 } : {});
    this.panel();
  }

  // What the picture shows.
  show(what = {}) {
    const target = this.view.target;
    const size = this.view.about && this.view.about.size.join();
    Object.assign(this.view, what);
    const about = this.view.about;
    if (about && !about.planes.includes(this.view.plane)) this.view.plane = about.planes[0] || "color";
    if (about && size && about.size.join() !== size) this.view.fit();
    const mine = new Set(this.command.targets);
    $("target").replaceChildren(...data.targets.flatMap((t, n) => t.layers.map((layer) => {
      const name = `${mine.has(n) ? "\u25cf " : ""}${t.format} ${t.size.join("\u00d7")} at ${t.address}`;
      const option = make("option", "", name + (t.samples > 1 ? `, ${t.samples} samples` : "") + (t.layers.length > 1 ? `, layer ${layer}` : ""));
      option.value = `${n}/${layer}`;
      option.selected = n === this.view.target && layer === this.view.layer;
      return option;
    })));
    $("plane").replaceChildren(...(about ? about.planes : []).map((p) => {
      const option = make("option", "", p);
      option.value = p;
      option.selected = p === this.view.plane;
      return option;
    }));
    for (const shown of ["before", "after", "change"]) $(`show-${shown}`).classList.toggle("on", this.view.shown === shown);
    $("toggle-wire").classList.toggle("on", this.view.wire);
    $("toggle-range").classList.toggle("on", this.view.stretch);
    $("zoom").textContent = `${Math.round(this.view.zoom * 100)}%`;
    if (target !== this.view.target && this.tab === PIXEL) this.panel();
    this.view.draw();
  }

  zoom(by) {
    const z = this.view.zoom;
    if (by > 0) this.view.zoom = z < 1 ? Math.min(1, z * 1.5) : Math.min(32, z + Math.max(1, Math.floor(z / 2)));
    else this.view.zoom = z <= 1 ? Math.max(0.1, z / 1.5) : Math.max(1, z - Math.max(1, Math.floor(z / 3)));
    this.show();
  }

  hover(x, y) {
    const { pixels, about } = this.view;
    if (x === null || !pixels || !about) {
      $("pixel-line").textContent = this.picked ? `pixel (${this.picked.join(", ")})` : "Click a pixel for its history.";
      return;
    }
    const at = 4 * (y * pixels.width + x);
    const [r, g, b] = pixels.data.slice(at, at + 3);
    const value = this.view.plane.startsWith("color") ? `${r} ${g} ${b}` : String(r);
    $("pixel-line").textContent = `(${x}, ${y}) ${this.view.plane} ${value} of 255${about.upwards ? ", rows from below" : ""}`;
  }

  // The history of a pixel: from the page, or from who serves it.
  async pick(x, y) {
    this.picked = [x, y];
    this.history = null;
    this.stepper = null;
    this.view.cross();
    this.open(PIXEL);
    const mine = () => this.picked && this.picked[0] === x && this.picked[1] === y;
    let found;
    try {
      const kept = (data.pixels || []).find((p) => p.at[0] === x && p.at[1] === y);
      if (kept) found = kept.fragments;
      else if (data.live) found = (await this.ask("pixel", { x, y })).fragments;
      else if (this.fragments.stored) found = await this.fragments.at(x, y);
      else found = `${this.fragments.why}. nvir frame --pixel ${x},${y} puts this one in, and nvir frame --serve finds any.`;
    } catch (e) {
      found = String(e.message || e);
    }
    if (!mine()) return;
    this.history = found;
    this.panel();
    document.body.dataset.picked = `${x},${y}`;
  }

  async ask(path, query) {
    const answer = await fetch(`${path}?${new URLSearchParams(query)}`);
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return JSON.parse(text);
  }

  // Shows the steps of a thread: those given, or asked for.
  async steps(what, title) {
    let found;
    try {
      found = what.steps ? what : await this.ask("steps", what);
    } catch (e) {
      $("panel-body").append(note(String(e.message || e)));
      return;
    }
    this.stepper = new Steps(this, found, title);
    this.panel();
    $("panel-body").scrollTop = 0;
    this.stepper.go(0);
    document.body.dataset.steps = String(found.steps.length);
  }

  // Lets go of the steps.
  close() {
    this.stepper = null;
    this.panel();
  }

  open(tab) {
    if (tab !== this.tab) this.stepper = null;
    this.tab = tab;
    this.panel();
  }

  panel() {
    TABS.forEach((name, n) => $("tab-" + name.toLowerCase()).classList.toggle("on", n === this.tab));
    const parts = [
      () => statePanel(this.command, this.before),
      () => verticesPanel(this.command, this),
      () => resourcesPanel(this.command),
      () => programsPanel(this.command),
      () => registersPanel(this.command),
      () => pixelPanel(this),
    ][this.tab]();
    $("panel-body").replaceChildren(...(this.stepper ? [this.stepper.element] : []), ...parts);
  }

  move(by, kind) {
    for (let i = this.index + by; i >= 0 && i < data.commands.length; i += by) {
      if (this.rows[i].hidden || kind && data.commands[i].kind !== kind) continue;
      this.select(i);
      return;
    }
  }

  nextOf(list, now) { return list[(list.indexOf(now) + 1) % list.length]; }

  dark() {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  }

  help() {
    $("help").replaceChildren(tableOf(null, KEYS));
    $("help").showModal();
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (/^(INPUT|SELECT)$/.test(e.target.tagName)) {
      if (e.key === "Escape" || e.key === "Enter") e.target.blur();
      return;
    }
    const last = data.commands.length - 1;
    const keys = {
      j: () => this.move(1), ArrowDown: () => this.move(1), k: () => this.move(-1), ArrowUp: () => this.move(-1),
      J: () => this.move(1, "draw"), K: () => this.move(-1, "draw"),
      g: () => this.select(0), G: () => this.select(last), Home: () => this.select(0), End: () => this.select(last),
      "/": () => $("search").focus(),
      b: () => this.show({ shown: "before" }), a: () => this.show({ shown: "after" }), c: () => this.show({ shown: "change" }),
      w: () => this.show({ wire: !this.view.wire }), r: () => this.show({ stretch: !this.view.stretch }),
      t: () => {
        const mine = this.command.targets.length ? this.command.targets : data.targets.map((_, n) => n);
        const target = this.nextOf(mine, this.view.target);
        this.show({ target, layer: data.targets[target].layers[0] || 0 });
      },
      p: () => this.view.about && this.show({ plane: this.nextOf(this.view.about.planes, this.view.plane) }),
      "+": () => this.zoom(1), "-": () => this.zoom(-1), 0: () => { this.view.fit(); this.show(); },
      ",": () => this.stepper && this.stepper.go(this.stepper.at - 1), ".": () => this.stepper && this.stepper.go(this.stepper.at + 1),
      d: () => this.dark(), "?": () => this.help(),
      Escape: () => { this.picked = null; this.history = []; this.stepper = null; this.view.cross(); this.panel(); },
    };
    const act = keys[e.key] || (/^[1-6]$/.test(e.key) ? () => this.open(Number(e.key) - 1) : null);
    if (!act) return;
    e.preventDefault();
    act();
  }
}

window.nvirPage = new Page();
