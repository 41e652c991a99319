// What a flamegraph of two runs draws, and what it says of a box. No DOM here.
//
// `data`: strings, kinds, per ("step" or "second"), metric, and columns: parent, label, file, line, kind, base,
// new (µs per step, or per second of steady time), baseIdle, newIdle, noise (half-width, as base), clear
// (whether the change is more than noise).
import { count, duration, percent } from "./figures.js";
import { makeTree } from "./layout.js";

// Three trees of the same boxes: as wide as the mean of both runs, as in BASE, as in NEW.
export function treesOf(data) {
  const { base, new: now, baseIdle, newIdle } = data.columns;
  const mean = (one, other) => Float64Array.from(one, (us, box) => (us + other[box]) / 2);
  return {
    both: treeOf(data, mean(base, now), mean(baseIdle, newIdle)),
    base: treeOf(data, base, baseIdle),
    new: treeOf(data, now, newIdle),
  };
}

function treeOf({ columns, strings, kinds }, width, idle) {
  const whole = columns.base[0] || columns.new[0] || 1;
  return makeTree(
    {
      ...columns,
      short: columns.file,
      wall: width,
      cpu: width,
      idle,
      change: Float64Array.from(columns.base, (us, box) => (columns.new[box] - us) / whole),
      noise: Float64Array.from(columns.noise, (us) => us / whole),
    },
    { metric: "wall", strings, kinds, lines: false },
  );
}

export function describeChange({ columns, strings, per, metric }, box) {
  const base = columns.base[box];
  const now = columns.new[box];
  const noise = columns.noise[box];
  const file = strings[columns.file[box]];
  const line = columns.line[box];
  const unit = per === "step" ? "per step" : "of steady time";
  const cost = (us) => (per === "step" ? smallDuration(us) : percent(us / 1e6));
  const waits = Math.max(columns.baseIdle[box], columns.newIdle[box]) > 0;
  return [
    strings[columns.label[box]],
    file && (line ? `${file}:${line}` : file),
    `${cost(base)} → ${cost(now)} ${metric} time ${unit} (${relative(base, now)})`,
    columns.clear[box] ? "more than noise" : `within the noise of ±${cost(noise)}`,
    waits ? `of that waiting: ${cost(columns.baseIdle[box])} → ${cost(columns.newIdle[box])}` : "",
  ].filter(Boolean);
}

// As rlprof/comparison/words.py says them.
export function smallDuration(us) {
  if (us <= 0) return "0";
  if (us < 0.9995) return `${Number((us * 1000).toPrecision(3))} ns`;
  if (us < 999.5) return `${Number(us.toPrecision(3))} µs`;
  return duration(us);
}

export function relative(base, now) {
  if (base <= 0) return now > 0 ? "new" : "–";
  if (now <= 0) return "gone";
  if (now >= 3 * base) return `${count(Number((now / base).toPrecision(3)))}×`;
  const share = now / base - 1;
  if (Math.abs(share) < 0.0005) return "±0";
  return `${share < 0 ? "−" : "+"}${percent(Math.abs(share))}`;
}
