// What the reader chose to look at, who is told when it changes, and its short form in the address. No DOM here.

export const WHOLE = Object.freeze({ from: 0, to: 0 }); // `to` 0: no range of time is chosen

export const DEFAULTS = Object.freeze({
  metric: "wall",
  group: "role",
  phase: "",
  lines: true,
  inverted: false,
  colours: "package",
  ...WHOLE, // slices; `to` is one past the last
  finding: 0, // its rank
  zoom: 0, // a box of the tree that the other choices give
  search: "",
});

const CHOICES = {
  metric: ["wall", "cpu", "idle"],
  group: ["role", "pid", "thread"],
  colours: ["package", "finding"],
};

// What makes another tree; a zoomed box of one tree says nothing about another.
export const SHAPES_TREE = ["metric", "group", "phase", "lines", "inverted", "from", "to"];

export function createStore(initial) {
  let state = Object.freeze({ ...DEFAULTS, ...initial });
  const listeners = [];
  return {
    get: () => state,
    subscribe: (listener) => listeners.push(listener),
    // `how` reaches the listeners: "typing" changes the address without a step of history.
    set(change, how = "choice") {
      const changed = new Set(Object.keys(change).filter((key) => state[key] !== change[key]));
      if (changed.size === 0) return;
      state = Object.freeze({ ...state, ...change });
      for (const listener of listeners) listener(state, changed, how);
    },
  };
}

// Only what differs from the defaults: "metric=cpu&time=3-17". Empty when nothing does.
export function toHash(state) {
  const words = new URLSearchParams();
  for (const key of ["metric", "group", "phase", "colours"]) {
    if (state[key] !== DEFAULTS[key]) words.set(key, state[key]);
  }
  if (!state.lines) words.set("by", "function");
  if (state.inverted) words.set("callers", "yes");
  if (state.to > 0) words.set("time", `${state.from}-${state.to}`);
  if (state.finding > 0) words.set("finding", state.finding);
  if (state.zoom > 0) words.set("zoom", state.zoom);
  if (state.search) words.set("search", state.search);
  return words.toString();
}

// Whether an address names a view; an anchor such as "#findings" does not.
export function isView(hash) {
  return hash === "" || hash.includes("=");
}

// The state that an address names. Addresses are typed and cut by hand: what makes no sense for
// this run falls back to its default.
export function fromHash(hash, limits) {
  const words = new URLSearchParams(hash);
  const oneOf = (key, allowed) => (allowed.includes(words.get(key)) ? words.get(key) : DEFAULTS[key]);
  return {
    metric: oneOf("metric", CHOICES.metric),
    group: oneOf("group", CHOICES.group),
    phase: oneOf("phase", limits.phases),
    colours: oneOf("colours", CHOICES.colours),
    lines: words.get("by") !== "function",
    inverted: words.get("callers") === "yes",
    ...range(words.get("time") ?? "", limits.slices),
    finding: number(words.get("finding"), (rank) => limits.ranks.includes(rank)),
    zoom: number(words.get("zoom"), () => true),
    search: (words.get("search") ?? "").slice(0, 500),
  };
}

function range(text, slices) {
  const [, from, to] = /^(\d{1,6})-(\d{1,6})$/.exec(text)?.map(Number) ?? [];
  return from < to && to <= slices ? { from, to } : WHOLE;
}

function number(text, isKnown) {
  const value = /^\d{1,9}$/.test(text ?? "") ? Number(text) : 0;
  return isKnown(value) ? value : 0;
}
