// What a chart of the timeline shows besides its lines: phases, torch's windows, when a finding takes time; and its colours.

export const MOST_LINES = 8; // as many as interactive.css has colours for
const MARK_HEIGHT = 5;

export function shadePhases(plot, { data, colours }, isFirst) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  for (const { name, start, end } of data.phases) {
    const left = plot.valToPos(start / 1e6, "x", true);
    const width = plot.valToPos(end / 1e6, "x", true) - left;
    if (name !== "steady") {
      ctx.fillStyle = colours.shade;
      ctx.fillRect(left, bbox.top, width, bbox.height);
    }
    ctx.fillStyle = colours.line;
    ctx.fillRect(left, bbox.top, devicePixelRatio, bbox.height);
    ctx.fillStyle = colours.quiet;
    if (isFirst && ctx.measureText(name).width + 8 < width) ctx.fillText(name, left + 2, bbox.top - 12 * devicePixelRatio);
  }
  ctx.restore();
}

export function markWindows(plot, { data, colours }) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colours.window;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { begin } of data.torchWindows) {
    const left = plot.valToPos(begin / 1e6, "x", true);
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

export function markFinding(plot, { data, colours, shares }) {
  const found = shares();
  if (!found) return;
  const { ctx, bbox } = plot;
  const height = MARK_HEIGHT * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = colours.finding;
  found.forEach((share, slice) => {
    if (share < 0.01) return;
    const left = plot.valToPos(data.slices.start[slice] / 1e6, "x", true);
    const right = plot.valToPos(data.slices.end[slice] / 1e6, "x", true);
    ctx.globalAlpha = 0.3 + 0.7 * share;
    ctx.fillRect(left, bbox.top - height - 2 * devicePixelRatio, right - left, height);
  });
  ctx.restore();
}

// A canvas takes no colours from style sheets: they are read from custom properties.
export function readColours(element) {
  const style = getComputedStyle(element);
  const read = (name) => style.getPropertyValue(name).trim() || "gray";
  const each = (prefix) => Array.from({ length: MOST_LINES }, (_, at) => read(`--${prefix}-${at + 1}`));
  return {
    series: each("series"),
    areas: each("area"),
    line: read("--line"),
    quiet: read("--quiet"),
    shade: read("--phase-shade"),
    window: read("--torch-window"),
    finding: read("--finding-mark"),
  };
}
