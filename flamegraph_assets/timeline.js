// The timeline: what went on over the run, one chart under the other. A range of it is chosen with
// the mouse or with two fields, and is what the rest of the page then shows.
import { drawChart } from "./chart.js";
import { readColours } from "./chartmarks.js";
import { createChosenRange } from "./chosenrange.js";
import { duration } from "./figures.js";
import { createRangeFields } from "./rangefields.js";
import { inOrder, presence, rangeWords, spanOf, stretches, wholeSpan } from "./timescale.js";

const CHARTS = [
  { group: "rate", title: "Throughput", isStacked: false },
  { group: "cores", title: "CPU by role", isStacked: true },
  { group: "memory", title: "Memory by role", isStacked: true },
  { group: "gpu", title: "GPU use", isStacked: false, most: 1.06 },
];

export function createTimeline(data, store, { container, told, clear }) {
  const span = wholeSpan(data);
  const longest = span.end / 1e6;
  const colours = readColours(container);
  const presenceOf = new Map(data.findings.map((finding) => [finding.rank, presence(data, finding.nodes)]));
  const marks = { data, colours, shares: () => presenceOf.get(store.get().finding) ?? null };
  const range = createChosenRange(data.slices, store, showRange);
  const figures = chartsOf(data.timeline.series).map((chart, at, all) => {
    const place = { isFirst: at === 0, isLast: at === all.length - 1 };
    return drawChart(chart, data, { longest, marks, choose: range.choose, place });
  });
  const fields = createRangeFields(span, range);
  container.replaceChildren(...figures.map(({ figure }) => figure), fields.form);
  clear.addEventListener("click", range.clear);
  store.subscribe((state, changed) => {
    if (changed.has("from") || changed.has("to")) showRange();
    if (changed.has("finding")) redraw();
    // Not at every change: a screen reader would say it again.
    if (["from", "to", "finding"].some((key) => changed.has(key))) tell();
  });
  new ResizeObserver(fit).observe(container);
  new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  fit();
  showRange();
  tell();

  function showRange() {
    const chosen = range.span();
    for (const { plot } of figures) mark(plot, chosen);
    fields.show(chosen ?? span);
    clear.disabled = chosen === null;
  }

  function tell() {
    const { finding } = store.get();
    const shares = presenceOf.get(finding);
    const parts = shares && stretches(shares).map(({ from, to }) => spanOf(data.slices, from, to));
    const words = [wordsOfRange(range.span(), span), parts ? wordsOfFinding(finding, parts, longest) : ""];
    told.textContent = words.filter(Boolean).join(" ");
  }

  function fit() {
    for (const { plot, holder, height } of figures) {
      const width = holder.clientWidth;
      if (width > 0 && width !== plot.width) {
        plot.setSize({ width, height });
        mark(plot, range.span());
      }
    }
  }

  function recolour() {
    Object.assign(colours, readColours(container));
    redraw();
  }

  function redraw() {
    for (const { plot } of figures) plot.redraw(false);
  }
}

// --- in words --------------------------------------------------------------------------------

function wordsOfRange(range, span) {
  if (range === null) return `The whole run is shown, ${duration(span.end)}. Drag over a chart, or fill in the fields, to choose a part.`;
  const length = `${duration(range.end - range.start)} of ${duration(span.end)}`;
  return `Chosen: ${rangeWords(range, span.end / 1e6)}, ${length}. The flamegraph and the functions show this part.`;
}

// `parts` are the spans in which the finding takes time.
function wordsOfFinding(rank, parts, longest) {
  if (parts.length === 0) return `Finding ${rank} has no time of its own here.`;
  const whole = { start: parts[0].start, end: parts.at(-1).end };
  const named = parts.length <= 4 ? parts.map((part) => rangeWords(part, longest)).join(", ") : `${parts.length} stretches from ${rangeWords(whole, longest)}`;
  return `Finding ${rank} takes time at ${named} (marked above the charts).`;
}

// --- the charts ------------------------------------------------------------------------------

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
