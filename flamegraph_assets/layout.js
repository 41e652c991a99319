// What a flamegraph computes before it draws: positions, search, walking, words. No DOM here.
//
// A tree is a set of columns in preorder; box 0 is the root. `width` is the metric's column of
// `wall`, `cpu` and `idle` (µs), `end` is one past the last box below a box, `self` what a box
// does itself. `finding` is the rank of the finding that has most of it, or 0. A tree of a comparison has
// `change` (new less base, as a share of the base's time per step), `noise`, the half-width of what is noise,
// and `clear`, whether the change is more than that: the figures here are rounded, and cannot tell.

import { duration, percent } from "./figures.js";

// `columns`: parent, wall, idle, cpu; label, file and short as places in `strings`, kind as a place
// in `kinds`, line; where there are such: self, finding, ranks, change with noise and clear, and `words` (places
// in `strings`) that the tooltip says in place of the times.
export function makeTree(columns, { metric, strings = [], kinds = [], lines = true, findings = [] }) {
  const { parent } = columns;
  const count = parent.length;
  const width = columns[metric];
  const depth = new Int32Array(count);
  const start = new Float64Array(count);
  const filled = new Float64Array(count);
  const end = new Int32Array(count);
  for (let box = 1; box < count; box++) {
    const caller = parent[box];
    depth[box] = depth[caller] + 1;
    start[box] = start[caller] + filled[caller];
    filled[caller] += width[box];
  }
  for (let box = count - 1; box >= 0; box--) {
    if (end[box] === 0) end[box] = box + 1;
    if (box > 0 && end[parent[box]] < end[box]) end[parent[box]] = end[box];
  }
  const self = columns.self ?? Float64Array.from(filled, (below, box) => width[box] - below);
  const { label, file, short, line, kind } = columns;
  return {
    ...columns, count, metric, lines, findings, width, depth, start, end, self,
    shade: columns.shade ?? shades(columns, strings, kinds),
    finding: columns.finding ?? new Int32Array(count),
    ranks: columns.ranks ?? new Map(), // of boxes that belong to findings: Map(rank -> own time)
    text: (box) => strings[label[box]],
    file: (box) => strings[file[box]],
    place: (box) => (strings[file[box]] ? `${strings[file[box]]}:${line[box]}` : ""),
    shortPlace: (box) => (strings[file[box]] ? `${strings[short[box]]}:${line[box]}` : ""),
    kindOf: (box) => kinds[kind[box]],
    words: (box) => (columns.words ? strings[columns.words[box]] : ""),
  };
}

// A shade that a function keeps from run to run, so that two graphs can be compared.
function shades({ parent, label, file, kind }, strings, kinds) {
  const known = new Map();
  return Uint8Array.from(parent, (_, box) => {
    if (!kinds.length || isFrameless(kinds[kind[box]])) return 0;
    const name = label[box] * strings.length + file[box];
    if (!known.has(name)) known.set(name, shadeOf(strings[file[box]], strings[label[box]]));
    return known.get(name);
  });
}

export function isFrameless(kind) {
  return kind === "root" || kind === "process" || kind === "thread";
}

export function shadeOf(file, label) {
  return crc32(`${file}\0${label}`) % 6;
}

const CRC_OF_BYTE = Int32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = (byte >>> 1) ^ (byte & 1 ? 0xedb88320 : 0);
  return byte;
});
const encoder = new TextEncoder();

// As zlib has it: what is drawn without scripts has the same shades.
function crc32(text) {
  let crc = -1;
  for (const byte of encoder.encode(text)) crc = (crc >>> 8) ^ CRC_OF_BYTE[(crc ^ byte) & 255];
  return ~crc >>> 0;
}

function ancestors(tree, box) {
  const found = [];
  for (let up = tree.parent[box]; up >= 0; up = tree.parent[up]) found.push(up);
  return found.reverse();
}

// The deepest box that all of `boxes` are, or lie below.
export function commonAncestor(tree, boxes) {
  if (boxes.length === 0) return 0;
  const [first, last] = boxes.reduce(([low, high], box) => [Math.min(low, box), Math.max(high, box)], [tree.count, 0]);
  let box = first;
  while (tree.end[box] <= last) box = tree.parent[box];
  return box;
}

// The names from below the root to `box`: they find it again in another tree of the same run.
export function pathOf(tree, box) {
  return [...ancestors(tree, box), box].slice(1).map((step) => keyOf(tree, step));
}

// The box that `path` leads to, or the last one on the way that is there.
export function boxAtPath(tree, path) {
  let box = 0;
  for (const key of path) {
    let child = box + 1;
    while (child < tree.end[box] && keyOf(tree, child) !== key) child = tree.end[child];
    if (child >= tree.end[box]) return box;
    box = child;
  }
  return box;
}

// Where boxes are functions, their line is the hottest, which another choice of time changes.
function keyOf(tree, box) {
  return `${tree.text(box)} ${tree.lines ? tree.place(box) : tree.file(box)}`;
}

// The boxes to draw when `focus` fills `pixels`: its callers above it, as wide as it, and
// everything below it that is at least `thinnest` pixels wide.
export function layout(tree, focus, pixels, thinnest) {
  const boxes = ancestors(tree, focus).map((box) => ({ box, x: 0, width: pixels, above: true }));
  const scale = tree.width[focus] > 0 ? pixels / tree.width[focus] : 0;
  let box = focus;
  while (box < tree.end[focus]) {
    const width = box === focus ? pixels : tree.width[box] * scale;
    if (width < thinnest) {
      box = tree.end[box];
      continue;
    }
    boxes.push({ box, x: (tree.start[box] - tree.start[focus]) * scale, width, above: false });
    box += 1;
  }
  return boxes;
}

// What `layout` placed, row by row, each in order of x.
export function rows(tree, placed) {
  const found = [];
  for (const it of placed) (found[tree.depth[it.box]] ??= []).push(it);
  return found;
}

// The box of a row that covers x, or is nearest within `reach` pixels; -1 for none.
export function boxInRow(row, x, reach) {
  let low = 0;
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle].x <= x) low = middle + 1;
    else high = middle;
  }
  const before = row[low - 1];
  if (before && x < before.x + before.width + reach) return before.box;
  return low < row.length && row[low].x - x < reach ? row[low].box : -1;
}

// A pattern with a capital letter minds case; one that is no regular expression is taken literally.
export function compile(pattern) {
  const flags = /[A-Z]/.test(pattern.replace(/\\./g, "")) ? "u" : "iu";
  try {
    return { expression: new RegExp(pattern, flags), literal: false };
  } catch {
    return { expression: new RegExp(literally(pattern), flags), literal: true };
  }
}

// `text` as an expression that matches it and nothing else. With the flag u no other characters may be escaped.
export function literally(text) {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

export function search(tree, expression) {
  const matches = [];
  for (let box = 0; box < tree.count; box++) {
    if (expression.test(`${tree.text(box)} ${tree.place(box)}`)) matches.push(box);
  }
  return matches;
}

// The part of `focus` spent in or below matching boxes. Time below two nested matches counts
// once; a match above `focus` covers all of it.
export function matchShare(tree, matches, focus) {
  const matching = new Uint8Array(tree.count);
  for (const box of matches) matching[box] = 1;
  if (matching[focus] || ancestors(tree, focus).some((box) => matching[box])) return 1;
  let matched = 0;
  let box = focus + 1;
  while (box < tree.end[focus]) {
    if (matching[box]) matched += tree.width[box];
    box = matching[box] ? tree.end[box] : box + 1;
  }
  return tree.width[focus] > 0 ? matched / tree.width[focus] : 0;
}

// The box that an arrow key leads to from `box`, within `focus`; `box` itself at an edge.
export function neighbour(tree, box, key, focus) {
  if (key === "ArrowUp") return tree.parent[box] >= 0 ? tree.parent[box] : box;
  if (key === "ArrowDown") return widestChild(tree, box);
  const step = key === "ArrowRight" ? 1 : -1;
  for (let next = box + step; next > focus && next < tree.end[focus]; next += step) {
    if (tree.depth[next] === tree.depth[box] && tree.width[next] > 0) return next;
  }
  return box;
}

function widestChild(tree, box) {
  let widest = box;
  for (let child = box + 1; child < tree.end[box]; child = tree.end[child]) {
    if (widest === box || tree.width[child] > tree.width[widest]) widest = child;
  }
  return widest;
}

// The text of a box: with its place when both fit, else the name, else its beginning, else nothing.
export function elide(label, place, pixels, characterWidth) {
  const room = Math.floor(pixels / characterWidth);
  if (place && columns(label) + 2 + columns(place) <= room) return { label, place };
  // Of a module's top level, only the file tells which it is.
  if (label === "<module>" && place) return elide(place, "", pixels, characterWidth);
  if (columns(label) <= room) return { label, place: "" };
  if (room < 3) return { label: "", place: "" };
  let kept = "";
  let used = 1;
  for (const character of label) {
    used += columns(character);
    if (used > room) break;
    kept += character;
  }
  return { label: kept + "…", place: "" };
}

// Cells in a fixed-width font; East Asian characters and emoji take two.
export function columns(text) {
  let cells = 0;
  for (const character of text) cells += character.codePointAt(0) >= 0x1100 && !isNarrow(character) ? 2 : 1;
  return cells;
}

function isNarrow(character) {
  const code = character.codePointAt(0);
  return code >= 0x1e00 && code < 0x2e80;
}

// The lines of a tooltip.
export function describe(tree, box) {
  const caller = tree.parent[box];
  const parts = [`${percent(share(tree.width[box], tree.width[0]))} of all`];
  if (caller >= 0 && tree.width[caller] > 0) parts.push(`${percent(tree.width[box] / tree.width[caller])} of its caller`);
  const waits = tree.idle[box] > 0 ? `, waiting ${duration(tree.idle[box])}` : "";
  const finding = tree.findings.find(({ rank }) => rank === tree.finding[box]);
  return [
    tree.text(box),
    tree.place(box),
    tree.words(box) || `wall ${duration(tree.wall[box])}, CPU ${duration(tree.cpu[box])}${waits}`,
    parts.join(", "),
    finding ? `finding ${finding.rank}: ${finding.title}` : "",
    tree.change ? change(tree, box) : "",
  ].filter(Boolean);
}

function change(tree, box) {
  const noise = `± ${percent(tree.noise[box])}`;
  const says = `${signed(tree.change[box])} of the base's time per step`;
  return tree.clear[box] ? `${says} (noise ${noise})` : `${says}: within the noise (${noise})`;
}

function signed(value) {
  return `${value < 0 ? "−" : "+"}${percent(Math.abs(value))}`;
}

function share(part, whole) {
  return whole > 0 ? part / whole : 0;
}
