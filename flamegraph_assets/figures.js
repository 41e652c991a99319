// Figures in words, as rlprof/units.py says them. No DOM here.

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

export function duration(us) {
  if (us < 999.5) return `${us.toFixed(0)} µs`;
  if (us < 999_500) return `${Number((us / 1000).toPrecision(3))} ms`;
  const seconds = us / 1e6;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

export function percent(share) {
  const value = share * 100;
  return value < 9.95 ? `${value.toFixed(1)} %` : `${value.toFixed(0)} %`;
}
