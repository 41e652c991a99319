// Figures of the timeline and tables in words, as rlprof/units.py says them. No DOM here.

export function count(number) {
  if (Math.abs(number) >= 100 || Number.isInteger(number)) {
    return number.toFixed(0).replace(/\B(?=(\d{3})+$)/g, " ");
  }
  return String(Number(number.toPrecision(3)));
}

export function size(bytes) {
  let value = bytes;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (value < 1024 || unit === "GiB") return `${value.toFixed(unit === "B" ? 0 : 1)} ${unit}`;
    value /= 1024;
  }
}

// A point in time on an axis: "12 s", "0.5 s", and in runs of more than two minutes "4:05" or "1:02:00".
export function clock(second, longest) {
  if (longest <= 120) return `${Number(second.toFixed(longest < 1 ? 3 : longest < 10 ? 2 : 1))} s`;
  const whole = Math.round(second);
  const parts = [Math.floor(whole / 60) % 60, whole % 60].map((part) => String(part).padStart(2, "0"));
  const hours = Math.floor(whole / 3600);
  return hours > 0 ? `${hours}:${parts.join(":")}` : `${Number(parts[0])}:${parts[1]}`;
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
  if (unit === "bytes") return (value) => size(value);
  if (unit === "share") return (value) => `${Math.round(value * 100)} %`;
  return (value) => count(value);
}
