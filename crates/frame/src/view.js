// The picture of a target at a command: patches painted in order, before and after it, what it changed, outlines.

class View {
  constructor(page) {
    this.page = page;
    this.canvas = $("canvas");
    this.shown = "after";
    this.wire = false;
    this.stretch = false;
    this.zoom = 1;
    this.target = 0;
    this.layer = 0;
    this.plane = "color";
    this.images = new Map();
    this.kept = new Map();
    this.turn = 0;
    // Patches of each target, layer and plane: index of the command, whether before it.
    this.patches = new Map();
    data.commands.forEach((c, index) => {
      for (const p of c.patches) {
        const key = this.key(p.target, p.layer, p.plane);
        if (!this.patches.has(key)) this.patches.set(key, []);
        this.patches.get(key).push({ ...p, index });
      }
    });
    this.canvas.addEventListener("click", (e) => this.page.pick(...this.pixelAt(e)));
    this.canvas.addEventListener("mousemove", (e) => this.page.hover(...this.pixelAt(e)));
    this.canvas.addEventListener("mouseleave", () => this.page.hover(null));
  }

  key(target, layer, plane) { return `${target}/${layer}/${plane}`; }

  get about() { return data.targets[this.target]; }

  // The pixel under the pointer, in memory's order of rows.
  pixelAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const [width, height] = this.about.size;
    const x = Math.min(width - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * width)));
    const row = Math.min(height - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * height)));
    return [x, this.about.upwards ? height - 1 - row : row];
  }

  image(patch) {
    if (!this.images.has(patch.png)) {
      const image = new Image();
      image.src = "data:image/png;base64," + patch.png;
      this.images.set(patch.png, image.decode().then(() => image));
    }
    return this.images.get(patch.png);
  }

  // The target as it was before a command, or after it, as the pixels of a canvas in memory's order of rows.
  async contents(key, index, after) {
    const [width, height] = this.about.size;
    const wanted = (this.patches.get(key) || []).filter((p) => p.index < index || p.index === index && (after || p.before));
    const images = await Promise.all(wanted.map((p) => this.image(p)));
    // From here on nothing waits: what somebody else has painted meanwhile is seen.
    let kept = this.kept.get(key + after);
    if (!kept || kept.count > wanted.length) {
      const canvas = new OffscreenCanvas(width, height);
      const context = canvas.getContext("2d", { willReadFrequently: true });
      context.fillStyle = this.plane.startsWith("alpha") ? "#fff" : "#000";
      context.fillRect(0, 0, width, height);
      kept = { canvas, context, count: 0 };
      this.kept.set(key + after, kept);
    }
    for (; kept.count < wanted.length; kept.count++) kept.context.drawImage(images[kept.count], ...wanted[kept.count].at);
    return kept.context.getImageData(0, 0, width, height);
  }

  async draw() {
    const turn = ++this.turn;
    const about = this.about;
    if (!about) {
      this.canvas.width = this.canvas.height = 0;
      return;
    }
    const [width, height] = about.size;
    const index = this.page.index;
    const key = this.key(this.target, this.layer, this.plane);
    const shown = this.shown;
    let pixels = await this.contents(key, index, shown !== "before");
    if (shown === "change") {
      const before = await this.contents(key, index, false);
      pixels = this.changes(before, pixels);
    } else if (this.stretch) {
      this.stretched(pixels);
    }
    if (turn !== this.turn) return;
    this.pixels = pixels;
    const scale = Math.max(1, Math.ceil(this.zoom));
    this.canvas.width = this.wire ? width * scale : width;
    this.canvas.height = this.wire ? height * scale : height;
    this.canvas.style.width = width * this.zoom + "px";
    this.canvas.style.height = height * this.zoom + "px";
    const context = this.canvas.getContext("2d");
    const whole = new OffscreenCanvas(width, height);
    whole.getContext("2d").putImageData(pixels, 0, 0);
    context.imageSmoothingEnabled = false;
    context.save();
    if (about.upwards) {
      context.translate(0, this.canvas.height);
      context.scale(1, -1);
    }
    context.drawImage(whole, 0, 0, this.canvas.width, this.canvas.height);
    if (this.wire) this.outlines(context, scale);
    context.restore();
    this.cross();
    document.body.dataset.drawn = `${index} ${key} ${shown}`;
  }

  changes(before, after) {
    const out = new ImageData(after.width, after.height);
    this.changed = 0;
    for (let i = 0; i < after.data.length; i += 4) {
      let most = 0;
      for (let c = 0; c < 3; c++) most = Math.max(most, Math.abs(after.data[i + c] - before.data[i + c]));
      if (most) this.changed++;
      const grey = (after.data[i] + after.data[i + 1] + after.data[i + 2]) / 12;
      out.data.set(most ? [255, 255 - most / 2, 60, 255] : [grey, grey, grey, 255], i);
    }
    return out;
  }

  // The values that occur become 0 to 255.
  stretched(pixels) {
    let low = 255, high = 0;
    for (let i = 0; i < pixels.data.length; i++) {
      if (i % 4 === 3) continue;
      // What was cleared to the farthest depth says nothing.
      if (this.plane.startsWith("depth") && pixels.data[i] === 255) continue;
      low = Math.min(low, pixels.data[i]);
      high = Math.max(high, pixels.data[i]);
    }
    const by = high > low ? 230 / (high - low) : 1;
    for (let i = 0; i < pixels.data.length; i++) {
      if (i % 4 === 3 || this.plane.startsWith("depth") && pixels.data[i] === 255) continue;
      pixels.data[i] = (pixels.data[i] - low) * by;
    }
  }

  // Outlines of the primitives of a draw, in the window.
  outlines(context, scale) {
    const command = this.page.command;
    context.lineWidth = 1;
    command.wire.forEach((wire) => {
      const corners = wire.floats ||= new Float32Array(wordsOf(wire.corners).buffer);
      const place = (i) => {
        const w = corners[4 * i + 3];
        if (!(w > 0)) return null;
        let [x, y] = [corners[4 * i] / w, corners[4 * i + 1] / w];
        const v = command.viewport;
        if (v) [x, y] = [x * v.scale[0] + v.translation[0], y * v.scale[1] + v.translation[1]];
        return Math.abs(x) < 1e5 && Math.abs(y) < 1e5 ? [x * scale, y * scale] : null;
      };
      context.strokeStyle = "#19d36b";
      context.fillStyle = "#19d36b";
      const count = corners.length / 4 / wire.size;
      for (let p = 0; p < count; p++) {
        const all = Array.from({ length: wire.size }, (_, i) => place(p * wire.size + i));
        if (all.some((at) => !at)) continue;
        if (wire.size === 1) {
          context.fillRect(all[0][0] - 1, all[0][1] - 1, 3, 3);
          continue;
        }
        context.beginPath();
        all.forEach((at, i) => i ? context.lineTo(...at) : context.moveTo(...at));
        if (wire.size > 2) context.closePath();
        context.stroke();
      }
    });
  }

  // Where the chosen pixel is.
  cross() {
    const at = this.page.picked, cross = $("cross");
    cross.hidden = !at || !this.about || at[0] >= this.about.size[0] || at[1] >= this.about.size[1];
    if (cross.hidden) return;
    const row = this.about.upwards ? this.about.size[1] - 1 - at[1] : at[1];
    const size = Math.max(1, this.zoom);
    cross.style.left = this.canvas.offsetLeft + at[0] * this.zoom + "px";
    cross.style.top = this.canvas.offsetTop + row * this.zoom + "px";
    cross.style.width = cross.style.height = size + "px";
  }

  // A zoom at which all of the target is seen.
  fit() {
    const box = $("canvas-frame");
    const [width, height] = this.about ? this.about.size : [1, 1];
    const most = Math.min((box.clientWidth - 26) / width, (box.clientHeight - 26) / height);
    this.zoom = most >= 1 ? Math.min(16, Math.floor(4 * most) / 4) : Math.max(0.1, most);
  }
}
