// From a run's self times (by slice of time, thread and stack) to the tree that is drawn. No DOM,
// and no recursion: stacks can be thousands deep.
//
// `data` is what rundata.js reads. A view is {metric, group, lines, inverted, phase, from, to};
// what is left out of it means everything.

import { inOrder } from "./boxes.js";
import { invert } from "./invert.js";
import { makeTree } from "./layout.js";
import { merge } from "./merge.js";
import { IMPORT, namesOf } from "./nodenames.js";

const WHOLE = { metric: "wall", group: "role", lines: true, inverted: false, phase: null, from: 0, to: Infinity };

export function buildTree(data, chosen) {
  const view = { ...WHOLE, ...chosen };
  const merged = merge(data, view);
  const columns = inOrder(merged, namesOf(data, view.lines).rank, merged[view.metric]);
  return finished(view.inverted ? invert(columns, view.metric) : columns, data, view);
}

// Time by function (or by line), the longest self time first; recursion counts once in a total.
export function functionRows(data, chosen) {
  const view = { ...WHOLE, lines: false, ...chosen, group: "role" };
  const names = namesOf(data, view.lines);
  const tree = inOrder(merge(data, view), names.rank, null);
  const rows = new Array(names.rank.length);
  const open = new Int32Array(names.rank.length); // of each key, the boxes that are callers of the one at hand
  const path = [];
  for (let box = 0; box < tree.count; box++) {
    while (path.length && tree.end[path.at(-1)] <= box) open[tree.key[path.pop()]]--;
    const key = tree.key[box];
    if (key < 0) continue;
    rows[key] ??= emptyRow(data, tree, box, key === names.imports);
    addTo(rows[key], data, tree, box, open[key] === 0);
    open[key]++;
    path.push(box);
  }
  const { metric } = view;
  const self = { wall: "selfWall", cpu: "selfCpu", idle: "selfIdle" }[metric];
  const found = rows.filter(Boolean).map(({ heaviest, ...row }) => ({ ...row, self: row[self], total: row[metric] }));
  return found.sort((one, other) => other.self - one.self || other.total - one.total);
}

// The boxes of a finding that lie below no other one of it.
export function boxesOfFinding(tree, rank) {
  const found = [];
  let end = 0;
  for (const [box, ranks] of tree.ranks) {
    if (box < end || !ranks.has(rank)) continue;
    found.push(box);
    end = tree.end[box];
  }
  return found;
}

function finished(boxes, data, view) {
  const { nodes } = data;
  const { imports, shade } = namesOf(data, view.lines);
  const strings = [...data.strings, "", IMPORT];
  const [nothing, imported] = [data.strings.length, data.strings.length + 1];
  const kinds = [...data.kinds, "root", "process", "thread"];
  const column = (from, ofImport) => {
    const values = new Int32Array(boxes.count).fill(ofImport);
    for (let box = 0; box < boxes.count; box++) {
      if (boxes.key[box] >= 0 && boxes.key[box] !== imports) values[box] = from[boxes.node[box]];
    }
    return values;
  };
  const self = { wall: boxes.selfWall, idle: boxes.selfIdle, cpu: boxes.selfCpu }[view.metric];
  const columns = {
    parent: boxes.parent, wall: boxes.wall, idle: boxes.idle, cpu: boxes.cpu, ranks: boxes.ranks,
    self,
    label: column(nodes.label, imported), kind: column(nodes.kind, kinds.indexOf("stdlib")),
    file: column(nodes.file, nothing), short: column(nodes.short, nothing), line: column(nodes.line, 0),
    shade: Uint8Array.from(boxes.key, (key) => (key < 0 ? 0 : shade[key])),
    finding: findingsOf(boxes, self, boxes[view.metric]),
  };
  for (const [box, { name, kind }] of boxes.heads) {
    columns.label[box] = strings.push(name) - 1;
    columns.kind[box] = kinds.indexOf(kind);
  }
  return makeTree(columns, { metric: view.metric, strings, kinds, lines: view.lines, findings: data.findings });
}

// The first finding that has more than half of what a box does itself, and of all the time in it; else 0. A box
// can stand for many lines, and be wide for what it calls: a part that is a finding's says nothing of the rest.
function findingsOf(boxes, self, whole) {
  const found = new Int32Array(boxes.count);
  const ranks = new Set([...boxes.ranks.values()].flatMap((times) => [...times.keys()]));
  for (const rank of [...ranks].sort((one, other) => other - one)) {
    const within = new Float64Array(boxes.count);
    for (const [box, times] of boxes.ranks) within[box] = times.get(rank) ?? 0;
    const mostOfOwn = [...boxes.ranks.keys()].filter((box) => self[box] > 0 && 2 * within[box] > self[box]);
    for (let box = boxes.count - 1; box > 0; box--) within[boxes.parent[box]] += within[box];
    for (const box of mostOfOwn) if (2 * within[box] > whole[box]) found[box] = rank;
  }
  return found;
}

function emptyRow({ nodes, strings }, tree, box, isImport) {
  const node = tree.node[box];
  const named = isImport
    ? { label: IMPORT, file: "", short: "", line: 0 }
    : { label: strings[nodes.label[node]], file: strings[nodes.file[node]], short: strings[nodes.short[node]], line: nodes.line[node] };
  return { ...named, heaviest: 0, wall: 0, idle: 0, cpu: 0, selfWall: 0, selfIdle: 0, selfCpu: 0 };
}

function addTo(row, data, tree, box, isOutermost) {
  if (row.file && tree.wall[box] > row.heaviest) {
    // A function's place is the line that took longest.
    row.heaviest = tree.wall[box];
    row.line = data.nodes.line[tree.node[box]];
  }
  row.selfWall += tree.selfWall[box];
  row.selfIdle += tree.selfIdle[box];
  row.selfCpu += tree.selfCpu[box];
  if (!isOutermost) return;
  row.wall += tree.wall[box];
  row.idle += tree.idle[box];
  row.cpu += tree.cpu[box];
}
