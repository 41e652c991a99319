// What the nodes of a run are merged by when they are drawn. Kept per run, as the reader's choice of
// times does not change it.

import { shadeOf } from "./layout.js";

export const IMPORT = "import";

const known = new WeakMap();

// What nodes are merged by, which stays the same while the reader chooses among times: `key` of
// each node, and of each key its place in the order of siblings and its shade.
export function namesOf(data, byLine) {
  const perData = known.get(data) ?? known.set(data, {}).get(data);
  return (perData[byLine ? "lines" : "functions"] ??= makeNames(data, byLine));
}

function makeNames({ nodes, strings }, byLine) {
  const { key, first, imports } = makeKeys(nodes, strings, byLine);
  const labelOf = (node) => (key[node] === imports ? IMPORT : strings[nodes.label[node]]);
  const sorted = first.map((_, at) => at).sort((a, b) => siblings(first[a], first[b]));
  function siblings(a, b) {
    return compareTexts(labelOf(a), labelOf(b)) || nodes.line[a] - nodes.line[b] || compareTexts(strings[nodes.file[a]], strings[nodes.file[b]]);
  }
  const rank = new Int32Array(first.length);
  sorted.forEach((at, place) => (rank[at] = place));
  const shade = Uint8Array.from(first, (node) => (key[node] === imports ? shadeOf("", IMPORT) : shadeOf(strings[nodes.file[node]], labelOf(node))));
  return { key, rank, shade, imports };
}

// `key` of each node, `first`: a node of each key, `imports`: the key of the import system or -1.
function makeKeys(nodes, strings, byLine) {
  const key = new Int32Array(nodes.parent.length);
  const first = [];
  const keys = new Map();
  const numbered = (name, node) => {
    const found = keys.get(name);
    if (found !== undefined) return found;
    keys.set(name, first.length);
    return first.push(node) - 1;
  };
  const functions = new Map();
  const isMachinery = machinery(strings);
  for (let node = 0; node < key.length; node++) {
    const pair = nodes.label[node] * strings.length + nodes.file[node];
    if (!functions.has(pair)) functions.set(pair, isMachinery(nodes.file[node], nodes.label[node]) ? -1 : functions.size);
    const number = functions.get(pair);
    key[node] = numbered(number < 0 ? IMPORT : number * 2 ** 31 + (byLine ? nodes.line[node] : 0), node);
  }
  return { key, first, imports: keys.get(IMPORT) ?? -1 };
}

// By code units: the same on every machine.
export function compareTexts(one, other) {
  return one < other ? -1 : one > other ? 1 : 0;
}

// As rlprof/analysis/origin.py tells an import under way. One import is four or five frames of the
// import system, which say nothing: they share a box.
function machinery(strings) {
  const files = strings.map((text) => text.startsWith("<frozen importlib.") || text.startsWith("<frozen zipimport"));
  return (file, label) => files[file] && !["_handle_fromlist", "parent"].includes(strings[label].split(".").at(-1));
}

// The findings that a node belongs to, by rank.
export function ranksOf(data) {
  const perData = known.get(data) ?? known.set(data, {}).get(data);
  if (perData.ranks) return perData.ranks;
  perData.ranks = new Map();
  for (const { rank, nodes } of data.findings) for (const node of nodes) perData.ranks.set(node, [...(perData.ranks.get(node) ?? []), rank]);
  return perData.ranks;
}
