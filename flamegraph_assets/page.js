// The report's page comes to life: one state, and everything that moves redraws from it.
import { followAddress, limitsOf, readAddress } from "./address.js";
import { make } from "./elements.js";
import { createFlamegraphSection, viewOf } from "./flamegraphsection.js";
import { createFunctions } from "./functions.js";
import { readData } from "./rundata.js";
import { createTimeline } from "./timeline.js";
import { SHAPES_TREE, createStore } from "./viewstate.js";

const byId = (id) => document.getElementById(id);
const reveal = (...ids) => ids.forEach((id) => (byId(id).hidden = false));

function start(data) {
  const limits = limitsOf(data);
  const store = createStore(readAddress(limits));
  reveal("flamegraph", "functions");
  startTimeline(data, store);
  const flamegraph = createFlamegraphSection(data, store, {
    section: byId("flamegraph"),
    controls: byId("flamegraph-controls"),
    drawing: byId("flamegraph-drawing"),
    told: byId("flamegraph-told"),
  });
  startFunctions(data, store, flamegraph);
  startFindings(data, flamegraph);
  followAddress(store, limits);
}

function startTimeline(data, store) {
  if (data.slices.start.length === 0 || data.timeline.series.length === 0) return;
  reveal("timeline");
  createTimeline(data, store, { container: byId("timeline-charts"), told: byId("timeline-range"), clear: byId("timeline-clear") });
}

function startFunctions(data, store, flamegraph) {
  const place = { controls: byId("functions-controls"), container: byId("functions-table") };
  const functions = createFunctions(data, store, place, flamegraph.find);
  const show = () => functions.show(viewOf(store.get(), data.slices.start.length));
  store.subscribe((state, changed) => SHAPES_TREE.some((key) => changed.has(key)) && show());
  show();
}

// A finding without known places in the tree keeps its button hidden.
function startFindings(data, flamegraph) {
  const ranks = new Set(data.findings.filter(({ nodes }) => nodes.length > 0).map(({ rank }) => rank));
  for (const shown of document.querySelectorAll("button.show-frames")) {
    const rank = Number(shown.dataset.rank);
    shown.hidden = !ranks.has(rank);
    shown.addEventListener("click", () => flamegraph.showFinding(rank));
  }
}

function explain(error) {
  console.error(error);
  const words = "The interactive part of this report could not start in this browser; what stands below is complete without it. It needs a browser of 2023 or newer with JavaScript.";
  byId("head").after(make("p", { role: "alert", class: "alert" }, words));
}

async function open() {
  try {
    start(await readData(byId("data").textContent));
    document.body.classList.add("ready");
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    explain(error);
  }
}

open();
