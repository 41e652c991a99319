// One chart of the timeline, drawn by uPlot.
/* global uPlot */
import { MOST_LINES, markFinding, markWindows, shadePhases } from "./chartmarks.js";
import { make } from "./elements.js";
import { BYTE_STEPS, TIME_STEPS, ceiling, clock, linesOf, seconds, stacked, unitWords } from "./timescale.js";

const PLOT_HEIGHT = 92;
const NAMES_HEIGHT = 26; // of the phases' names and a finding's marks, above the first chart
const TIME_HEIGHT = 28; // of the marks, below the last
const LEFT = 66;
const RIGHT = 20; // half of the last mark of time

// `marks` is what the functions of chartmarks.js need; `choose(start, end)` hears of a range, in µs.
export function drawChart(chart, data, { longest, marks, choose, place }) {
  const { unit } = chart.series[0];
  const words = unitWords(unit);
  const lines = linesOf(chart.series, MOST_LINES);
  const heights = chart.isStacked ? stacked(lines) : lines.map(({ values }) => values);
  const { top, cut } = chart.most ? { top: chart.most, cut: 0 } : ceiling(heights, data);
  const key = legend(chart, lines, cut > 0 ? `up to ${words(cut)} outside the steady phase` : "", marks.data.torchWindows.length > 0 && place.isFirst);
  const holder = make("div", { class: "plot", role: "img", "aria-label": summary(chart, lines, words, unit) });
  const figure = make("figure", { class: "chart" }, key.caption, holder);
  const height = PLOT_HEIGHT + (place.isFirst ? NAMES_HEIGHT : 0) + (place.isLast ? TIME_HEIGHT : 0);
  const options = {
    width: 600,
    height,
    padding: [place.isFirst ? NAMES_HEIGHT : 4, RIGHT, place.isLast ? 0 : 4, 0],
    legend: { show: false },
    cursor: { sync: { key: "timeline" }, drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
    scales: { x: { time: false, range: [0, longest || 1] }, y: { range: [0, top] } },
    axes: [timeAxis(longest, marks.colours, place.isLast), valueAxis(unit, words, marks.colours)],
    series: [{}, ...lines.map(({ slot }) => lineStyle(slot, chart.isStacked, marks.colours))],
    bands: chart.isStacked ? lines.slice(1).map((line, at) => ({ series: [at + 2, at + 1] })) : [],
    hooks: {
      drawClear: [(plot) => shadePhases(plot, marks, place.isFirst)],
      draw: [(plot) => markWindows(plot, marks), (plot) => place.isFirst && markFinding(plot, marks)],
      setCursor: [(plot) => key.tell(pointUnder(plot), lines, words)],
    },
  };
  const plot = new uPlot(options, [seconds(data.timeline), ...heights], holder);
  followDrag(plot, choose);
  return { figure, holder, plot, height };
}

// The point that the mouse is in; uPlot's own is the one whose start is nearest.
function pointUnder(plot) {
  const { idx, left } = plot.cursor;
  if (idx === null || idx === undefined || left < 0) return null;
  return plot.data[0][idx] > plot.posToVal(left, "x") ? Math.max(0, idx - 1) : idx;
}

// uPlot passes a drag on to every chart of the group: only the one under the mouse may answer.
// A click without a drag chooses nothing.
function followDrag(plot, choose) {
  let begun = null;
  plot.over.addEventListener("mousedown", (event) => (begun = event.button === 0 ? event.clientX : null));
  document.addEventListener("mouseup", (event) => {
    if (begun === null) return;
    const isDrag = Math.abs(event.clientX - begun) > 2;
    begun = null;
    // After uPlot's own listener, which has the last position of the mouse.
    setTimeout(() => {
      const { left, width } = plot.select;
      const at = (pixels) => plot.posToVal(pixels, "x") * 1e6;
      if (isDrag && width > 0) choose(at(left), at(left + width));
      else choose(0, 0);
    });
  });
}

function lineStyle(slot, isStacked, colours) {
  return {
    width: isStacked ? 1 : 1.6,
    stroke: () => colours.series[slot],
    fill: isStacked ? () => colours.areas[slot] : undefined,
    paths: uPlot.paths.stepped({ align: 1 }),
    points: { show: false },
  };
}

function timeAxis(longest, colours, isShown) {
  return {
    show: isShown,
    size: TIME_HEIGHT,
    incrs: TIME_STEPS,
    space: 60,
    values: (plot, splits) => splits.map((second) => clock(second, longest)),
    ...axisColours(colours),
  };
}

function valueAxis(unit, words, colours) {
  return {
    size: LEFT,
    space: 28,
    ...(unit === "bytes" ? { incrs: BYTE_STEPS } : {}),
    values: (plot, splits) => splits.map(words),
    ...axisColours(colours),
  };
}

function axisColours(colours) {
  const line = { stroke: () => colours.line, width: 1 };
  return { stroke: () => colours.quiet, font: "11px system-ui, sans-serif", grid: line, ticks: { ...line, size: 4 }, gap: 4 };
}

function legend(chart, lines, remark, hasWindows) {
  const keys = lines.map(({ name, slot }) => {
    const value = make("span", { class: "value" });
    return { value, item: make("span", { class: "key" }, make("span", { class: `swatch series-${slot + 1}` }), name, value) };
  });
  const title = make("span", { class: "title" }, chart.title);
  const windows = hasWindows ? [make("span", { class: "key" }, make("span", { class: "swatch torch" }), "torch profiled here")] : [];
  const remarks = remark ? [make("span", { class: "key" }, remark)] : [];
  return {
    caption: make("figcaption", {}, title, ...keys.map(({ item }) => item), ...remarks, ...windows),
    tell(at, shown, words) {
      keys.forEach(({ value }, line) => {
        const known = at === null ? null : shown[line].values[at];
        value.textContent = known === null || known === undefined ? "" : ` ${words(known)}`;
      });
    },
  };
}

function summary(chart, lines, words, unit) {
  const told = lines.map(({ name, values }) => {
    const known = values.filter((value) => value !== null).sort((a, b) => a - b);
    if (known.length === 0) return `${name}: not measured`;
    const [low, middle, high] = [known[0], known[known.length >> 1], known[known.length - 1]].map(words);
    return `${name}: lowest ${low}, median ${middle}, highest ${high}${unit === "cores" ? " cores" : ""}`;
  });
  return `${chart.title} over the run. ${told.join("; ")}.`;
}
