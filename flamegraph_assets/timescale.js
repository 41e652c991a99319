// The arithmetic of the timeline: ranges of time and slices, lines and stacks, marks of axes, when a finding has time. No DOM here.
import { count, size } from "./figures.js";

const ROOM = 1.06; // above the highest value
const ROOM_IF_CUT = 1.5;
const BURST = 3; // times the highest value of the steady phase

// The slices that overlap [start, end], in µs; null when none does or when it is empty.
export function slicesIn(slices, start, end) {
  const count = slices.start.length;
  let from = 0;
  while (from < count && slices.end[from] <= start) from += 1;
  let to = from;
  while (to < count && slices.start[to] < end) to += 1;
  return start < end && from < to ? { from, to } : null;
}

// The range in µs that slices `from` to `to` (exclusive) span.
export function spanOf(slices, from, to) {
  return { start: slices.start[from], end: slices.end[to - 1] };
}

export function wholeSpan(data) {
  const { slices, timeline } = data;
  const starts = [firstOf(slices.start), firstOf(timeline.start)].filter((it) => it !== undefined);
  const ends = [lastOf(slices.end), lastOf(timeline.end)].filter((it) => it !== undefined);
  return { start: Math.min(...starts, 0), end: Math.max(...ends, 0) };
}

const firstOf = (column) => column[0];
const lastOf = (column) => column[column.length - 1];

// For each slice, how much of its length is spent in the `nodes` or below them, on all threads,
// against the slice that spends most: 0 to 1.
export function presence(data, nodes) {
  const { parent } = data.nodes;
  const inside = new Uint8Array(parent.length);
  for (const node of nodes) inside[node] = 1;
  for (let node = 0; node < inside.length; node++) {
    if (parent[node] >= 0 && inside[parent[node]]) inside[node] = 1;
  }
  const { start, end } = data.slices;
  const shares = new Array(start.length).fill(0);
  const { slice, node, wall } = data.cells;
  for (let cell = 0; cell < slice.length; cell++) if (inside[node[cell]]) shares[slice[cell]] += wall[cell];
  shares.forEach((spent, at) => (shares[at] = spent / Math.max(1, end[at] - start[at])));
  const most = Math.max(0, ...shares);
  return most > 0 ? shares.map((share) => share / most) : shares;
}

// Where `shares` is above a hundredth: [{from, to}] in slices, for words.
export function stretches(shares) {
  const found = [];
  shares.forEach((share, at) => {
    if (share < 0.01) return;
    const last = found[found.length - 1];
    if (last && last.to === at) last.to = at + 1;
    else found.push({ from: at, to: at + 1 });
  });
  return found;
}

// Series in the order of `names`, each with its place there: its colour.
export function inOrder(series, names) {
  const placed = series.map((it) => ({ ...it, slot: names.indexOf(it.name) }));
  return placed.sort((a, b) => a.slot - b.slot);
}

// Series of one axis as a chart takes them: those with a slot above `most` are summed into the last one.
// Levels hold from the start of a point to its end, so each series has its last value once more.
export function linesOf(series, most) {
  const clean = series.map(({ name, values, slot }) => ({ name, slot, values: Array.from(values, measured) }));
  const fits = clean.every(({ slot }) => slot < most);
  const own = fits ? clean : clean.filter(({ slot }) => slot < most - 1);
  const lines = fits ? own : [...own, rest(clean.slice(own.length), most - 1)];
  return lines.map((line) => ({ ...line, values: [...line.values, line.values[line.values.length - 1] ?? null] }));
}

const measured = (value) => (Number.isFinite(value) ? value : null);

function rest(series, slot) {
  const values = series[0].values.map((_, at) => sum(series.map((it) => it.values[at])));
  return { name: `${series.length} more`, slot, values };
}

function sum(values) {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((total, value) => total + value, 0) : null;
}

// Each series on top of those before it. Where one is unknown it adds nothing; where all are, there is a gap.
export function stacked(lines) {
  const count = lines[0]?.values.length ?? 0;
  const heights = Array.from({ length: count }, (_, at) => (lines.some(({ values }) => values[at] !== null) ? 0 : null));
  return lines.map(({ values }) => {
    values.forEach((value, at) => {
      if (value !== null) heights[at] += value;
    });
    return [...heights];
  });
}

// How high an axis goes. A burst outside of the steady phase, as of the first steps before training begins,
// would flatten all the rest: it is cut off, and `cut` says how high it is.
export function ceiling(columns, { timeline, phases }) {
  const steady = phases.find(({ name }) => name === "steady");
  const isSteady = (at) => steady && timeline.start[at] >= steady.start && timeline.end[at] <= steady.end;
  const highest = (chosen) => Math.max(0, ...columns.flatMap((values) => values.filter((value, at) => value !== null && chosen(at))));
  const all = highest(() => true);
  const usual = highest(isSteady);
  if (usual > 0 && all > BURST * usual) return { top: usual * ROOM_IF_CUT, cut: all };
  return { top: all > 0 ? all * ROOM : 1, cut: 0 };
}

// The x of a chart, in seconds: the start of every point, then the end of the last.
export function seconds(timeline) {
  const starts = Array.from(timeline.start, (us) => us / 1e6);
  return starts.length ? [...starts, lastOf(timeline.end) / 1e6] : [];
}

// --- axes ----------------------------------------------------------------------------------

// A point in time on an axis: "12 s", "0.5 s", and in runs of more than two minutes "4:05" or "1:02:00".
export function clock(second, longest) {
  if (longest <= 120) return `${Number(second.toFixed(longest < 1 ? 3 : longest < 10 ? 2 : 1))} s`;
  const whole = Math.round(second);
  const parts = [Math.floor(whole / 60) % 60, whole % 60].map((part) => String(part).padStart(2, "0"));
  const hours = Math.floor(whole / 3600);
  return hours > 0 ? `${hours}:${parts.join(":")}` : `${Number(parts[0])}:${parts[1]}`;
}

// A range of time in words, in a run of `longest` seconds.
export function rangeWords({ start, end }, longest) {
  return `${clock(start / 1e6, longest)} to ${clock(end / 1e6, longest)}`;
}

// Steps between the marks of an axis of time, in seconds.
export const TIME_STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30,
  60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 604800,
];

// ... of an axis of bytes: powers of two, so that marks are whole MiB or GiB.
export const BYTE_STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);

// The words for values of a unit that a series has.
export function unitWords(unit) {
  if (unit === "bytes") return size;
  if (unit === "share") return (value) => `${Math.round(value * 100)} %`;
  return count;
}
