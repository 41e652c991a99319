// The data of a page, unpacked. rlprof/renderers/html/rundata.py packs it and says how.

// `text` is base64. Resolves to the run: columns of nodes, threads, slices and cells, times in µs.
export async function readData(text) {
  return decode(await unzip(fromBase64(text.trim())));
}

function fromBase64(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

async function unzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function decode(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const { columns, unit, ...rest } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const read = {};
  let at = 4 + length;
  for (const [name, count, width] of columns) {
    read[name] = column(bytes, at, count, width);
    at += count * width;
  }
  return { ...rest, nodes: nodes(read), cells: cells(read, unit) };
}

// The lowest bytes of all values come first, then the next ones.
function column(bytes, at, count, width) {
  const values = new Uint32Array(count);
  for (let plane = 0; plane < width; plane++) {
    const shift = 8 * plane;
    for (let row = 0; row < count; row++) values[row] |= bytes[at++] << shift;
  }
  return values;
}

// A parent is given by how far back it is; 0 means none.
function nodes(read) {
  const parent = Int32Array.from(read["nodes.parent"], (back, node) => (back === 0 ? -1 : node - back));
  return {
    parent,
    label: read["nodes.label"],
    file: read["nodes.file"],
    short: read["nodes.short"],
    line: read["nodes.line"],
    kind: read["nodes.kind"],
    importing: read["nodes.importing"],
  };
}

// Times can be longer than 32 bits of µs, so they are doubles.
function cells(read, unit) {
  const idle = Float64Array.from(read["cells.idle"], (units) => units * unit);
  const cpu = Float64Array.from(read["cells.cpu"], (units) => units * unit);
  const wall = Float64Array.from(read["cells.rest"], (units, cell) => units * unit + idle[cell] + cpu[cell]);
  return {
    slice: summed(read["cells.slice"]),
    thread: summed(read["cells.thread"]),
    node: summed(read["cells.node"]),
    wall,
    idle,
    cpu,
  };
}

// Each value is its distance from the one before, in 32 bits with sign.
function summed(steps) {
  const values = new Int32Array(steps.length);
  let value = 0;
  for (let row = 0; row < steps.length; row++) {
    value = (value + steps[row]) | 0;
    values[row] = value;
  }
  return values;
}
