// The timeline: what went on over the run, one chart under the other. A range of it is chosen with
// the mouse or with two fields, snaps to slices, and is what the rest of the page then shows.
import { drawChart } from "./chart.js";
import { readColours } from "./chartmarks.js";
import { make } from "./elements.js";
import { clock } from "./figures.js";
import { duration } from "./layout.js";
import { inOrder, presence, slicesIn, spanOf, stretches, wholeSpan } from "./timescale.js";
import { WHOLE } from "./viewstate.js";

const CHARTS = [
  { group: "rate", title: "Throughput", isStacked: false },
  { group: "cores", title: "CPU by role", isStacked: true },
  { group: "memory", title: "Memory by role", isStacked: true },
  { group: "gpu", title: "GPU use", isStacked: false, most: 1.06 },
];

export function createTimeline(data, store, { container, told, clear }) {
  const span = wholeSpan(data);
  const longest = span.end / 1e6;
  const count = data.slices.start.length;
  const used = chartsOf(data.timeline.series);
  const colours = readColours(container);
  const ranks = new Map(data.findings.map((finding) => [finding.rank, presence(data, finding.nodes)]));
  const marks = { data, colours, shares: () => ranks.get(store.get().finding) ?? null };
  const figures = used.map((chart, at) => {
    const place = { isFirst: at === 0, isLast: at === used.length - 1 };
    return drawChart(chart, data, { longest, marks, choose, place });
  });
  const fields = rangeFields(span, choose, moveEdge);
  container.replaceChildren(...figures.map(({ figure }) => figure), fields.form);
  clear.addEventListener("click", () => store.set(WHOLE));
  store.subscribe((state, changed) => {
    if (changed.has("from") || changed.has("to")) showRange();
    if (changed.has("finding")) figures.forEach(({ plot }) => plot.redraw(false));
    // Not at every change: a screen reader would say it again.
    if (["from", "to", "finding"].some((key) => changed.has(key))) tell();
  });
  new ResizeObserver(fit).observe(container);
  new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  fit();
  showRange();
  tell();

  // An empty range, as after a click without a drag, chooses the whole run.
  function choose(start, end) {
    setRange(slicesIn(data.slices, start, end) ?? WHOLE);
  }

  function moveEdge(edge, direction) {
    const { from, to } = store.get();
    const range = to > 0 ? { from, to } : { from: 0, to: count };
    const moved = { ...range, [edge]: Math.min(count, Math.max(0, range[edge] + direction)) };
    setRange(moved.from < moved.to ? moved : range, "typing");
  }

  function setRange({ from, to }, how) {
    store.set(from === 0 && to === count ? WHOLE : { from, to }, how);
    showRange(); // also when the same slices were chosen again: the edges snap back to them
  }

  function chosen() {
    const { from, to } = store.get();
    return to > 0 ? spanOf(data.slices, from, to) : null;
  }

  function showRange() {
    const range = chosen();
    for (const { plot } of figures) mark(plot, range);
    fields.show(range ?? span);
    clear.disabled = range === null;
  }

  function tell() {
    const range = chosen();
    const finding = data.findings.find(({ rank }) => rank === store.get().finding);
    const words = [
      range
        ? `Chosen: ${between(range)}, ${duration(range.end - range.start)} of ${duration(span.end)}. The flamegraph and the functions show this part.`
        : `The whole run is shown, ${duration(span.end)}. Drag over a chart, or fill in the fields, to choose a part.`,
    ];
    if (finding) words.push(whenOf(finding, ranks.get(finding.rank)));
    told.textContent = words.join(" ");
  }

  function between({ start, end }) {
    return `${clock(start / 1e6, longest)} to ${clock(end / 1e6, longest)}`;
  }

  function whenOf({ rank }, shares) {
    const parts = stretches(shares).map(({ from, to }) => spanOf(data.slices, from, to));
    if (parts.length === 0) return `Finding ${rank} has no time of its own here.`;
    const named = parts.length <= 4 ? parts.map(between).join(", ") : `${parts.length} stretches from ${between({ start: parts[0].start, end: parts[parts.length - 1].end })}`;
    return `Finding ${rank} takes time at ${named} (marked above the charts).`;
  }

  function fit() {
    for (const { plot, holder, height } of figures) {
      const width = holder.clientWidth;
      if (width > 0 && width !== plot.width) {
        plot.setSize({ width, height });
        mark(plot, chosen());
      }
    }
  }

  function recolour() {
    Object.assign(colours, readColours(container));
    for (const { plot } of figures) plot.redraw(false);
  }
}

// A role has one colour in all charts, and one place in their stacks.
function chartsOf(series) {
  const stacks = CHARTS.filter(({ isStacked }) => isStacked).map(({ group }) => group);
  const roles = [...new Set(series.filter(({ group }) => stacks.includes(group)).map(({ name }) => name))];
  const charts = CHARTS.map((chart) => {
    const own = series.filter(({ group }) => group === chart.group);
    return { ...chart, series: chart.isStacked ? inOrder(own, roles) : inOrder(own, own.map(({ name }) => name)) };
  });
  return charts.filter(({ series: shown }) => shown.length > 0);
}

function mark(plot, range) {
  if (range === null) {
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    return;
  }
  const left = plot.valToPos(range.start / 1e6, "x");
  const width = plot.valToPos(range.end / 1e6, "x") - left;
  plot.setSelect({ left, width, top: 0, height: plot.over.clientHeight }, false);
}

// --- the range by keyboard -------------------------------------------------------------------

// Two fields in seconds; their arrow keys move an edge by a slice.
function rangeFields(span, choose, step) {
  const longest = rounded(span.end / 1e6);
  const field = (edge) => {
    const input = make("input", { type: "number", min: "0", max: String(longest), step: "any", inputmode: "decimal" });
    input.addEventListener("change", () => choose(Number(from.value) * 1e6, Number(to.value) * 1e6));
    input.addEventListener("keydown", (event) => {
      const direction = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (!direction) return;
      event.preventDefault();
      step(edge, direction);
    });
    return input;
  };
  const from = field("from");
  const to = field("to");
  const form = make(
    "div",
    { class: "range", role: "group", "aria-label": "Range of time" },
    make("label", {}, make("span", {}, "From second"), from),
    make("label", {}, make("span", {}, "to second"), to),
  );
  return {
    form,
    show({ start, end }) {
      from.value = rounded(start / 1e6);
      to.value = rounded(end / 1e6);
    },
  };
}

function rounded(second) {
  return Number(second.toFixed(second < 10 ? 3 : 2));
}
