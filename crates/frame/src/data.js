// The data of the page, and how its words become numbers.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Words in base 64, as Uint32Array.
function wordsOf(base64) {
  const bytes = bytesOf(base64);
  return new Uint32Array(bytes.buffer, 0, bytes.length >> 2);
}

// A channel of a colour format's texel: floats, but of integers.
function channelText(format, bits) {
  if (/_uint/.test(format)) return String(bits >>> 0);
  if (/_sint/.test(format)) return String(bits | 0);
  return floatText(bits);
}

function colorOf(format, texel) {
  const byte = (bits) => {
    const v = /_[us]int/.test(format) ? (bits | 0) / 255 : asFloat(bits);
    return Math.round(255 * Math.min(1, Math.max(0, v || 0)));
  };
  return `rgb(${byte(texel[0])} ${byte(texel[1])} ${byte(texel[2])})`;
}

const commandByNumber = new Map(data.commands.map((c, i) => [c.number, i]));

// The fragments that are in the page, as the server's answers have them: inflated when they are first asked for.
class Fragments {
  constructor(stored) {
    this.why = typeof stored === "string" ? stored : null;
    this.stored = this.why ? null : stored;
    this.commands = null;
  }

  async load() {
    if (this.commands || !this.stored) return;
    const all = [];
    for (const c of this.stored.commands) {
      const stream = new Blob([bytesOf(c.words)]).stream().pipeThrough(new DecompressionStream("deflate"));
      all.push({ ...c, words: new Uint32Array(await new Response(stream).arrayBuffer()) });
    }
    this.commands = all;
  }

  // The fragments of a pixel, in order.
  async at(x, y) {
    await this.load();
    const key = (x | y << 16) >>> 0;
    const found = [];
    for (const c of this.commands) {
      for (let i = 0; i < c.count; i++) if (c.words[i] === key) found.push(this.fragment(c, i));
    }
    return found;
  }

  fragment(c, row) {
    let column = 0;
    const next = () => c.words[column++ * c.count + row];
    const four = () => [next(), next(), next(), next()];
    const at = next(), layer = next(), primitive = next(), flags = next(), depth = next();
    const launch = next(), thread = next();
    const f = {
      command: c.command, at: [at & 0xffff, at >>> 16], layer, primitive, depth,
      front: (flags >> 3 & 1) === 1, cover: [flags >> 8 & 255, flags >> 16 & 255], outcome: this.stored.outcomes[flags & 7],
      thread: launch === 0xffffffff ? null : [launch, thread >>> 5, thread & 31],
      inputs: c.inputs.map((name) => [name, next()]), colors: [], texels: [], zeta: null,
    };
    for (let n = 0; n < c.colors; n++) {
      const there = next(), color = four();
      f.colors.push(there ? color : null);
      f.texels.push([four(), four()]);
    }
    if (c.depth) f.zeta = [[next(), next()], [next(), next()]];
    return f;
  }
}
