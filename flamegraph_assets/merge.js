// The self times that a view chooses, merged into boxes: processes, threads, frames.

import { addHead, addRanks, childOf, newBoxes } from "./boxes.js";
import { namesOf, ranksOf } from "./nodenames.js";

const START_UP = "start-up";

// All boxes of a view, with what each does itself in `self…` and with all below it in `wall`, `idle`, `cpu`.
export function merge(data, view) {
  const boxes = newBoxes("all processes");
  const scratch = newScratch(data.nodes.parent.length);
  for (const [top, cells] of cellsByTop(data, view, boxes)) mergeThread(data, view, boxes, top, cells, scratch);
  return summedUp(boxes);
}

// Columns by node that every thread uses again; `seen` is the last one that did.
function newScratch(nodes) {
  const [wall, idle, cpu, weight] = Array.from({ length: 4 }, () => new Float64Array(nodes));
  return { seen: new Int32Array(nodes).fill(-1), box: new Int32Array(nodes), wall, idle, cpu, weight };
}

// [box of a thread, its cells], in the order of processes, a process's main thread first.
function cellsByTop(data, view, boxes) {
  const { cells, threads } = data;
  const chosen = chooser(data, view);
  const byThread = Array.from(threads.process, () => []);
  for (let cell = 0; cell < cells.node.length; cell++) if (chosen(cell)) byThread[cells.thread[cell]].push(cell);
  const tops = topsOf(data, view.group);
  const order = tops.map((_, thread) => thread).filter((thread) => byThread[thread].length);
  order.sort((a, b) => threads.process[a] - threads.process[b] || threads.main[b] - threads.main[a] || a - b);
  const found = new Map();
  const groups = new Map();
  const inGroups = new Map();
  for (const thread of order) {
    const { group, groupName, name, key } = tops[thread];
    if (!groups.has(group)) groups.set(group, addHead(boxes, 0, groupName, "process"));
    const inGroup = `${groups.get(group)} ${key}`;
    if (!inGroups.has(inGroup)) {
      inGroups.set(inGroup, addHead(boxes, groups.get(group), name, "thread"));
      found.set(inGroups.get(inGroup), []);
    }
    found.get(inGroups.get(inGroup)).push(byThread[thread]);
  }
  return [...found].map(([top, lists]) => [top, lists.length === 1 ? lists[0] : lists.flat()]);
}

function mergeThread(data, view, boxes, top, cells, scratch) {
  const { parent } = data.nodes;
  const { key, imports } = namesOf(data, view.lines);
  const ranks = ranksOf(data);
  const touched = gather(data, cells, top, scratch);
  if (!view.lines) weigh(parent, touched, scratch, view.metric);
  for (const node of touched) {
    const above = parent[node] < 0 ? top : scratch.box[parent[node]];
    const isNested = key[node] === imports && boxes.key[above] === imports;
    const box = isNested ? above : childOf(boxes, above, key[node], node);
    if (!view.lines && scratch.weight[node] > scratch.weight[boxes.node[box]]) boxes.node[box] = node;
    scratch.box[node] = box;
    boxes.wall[box] += scratch.wall[node];
    boxes.idle[box] += scratch.idle[node];
    boxes.cpu[box] += scratch.cpu[node];
    if (ranks.has(node)) addRanks(boxes.ranks, box, ranks.get(node).map((rank) => [rank, scratch[view.metric][node]]));
  }
}

// Sums the cells of one top by node; returns their nodes and all callers of these, callers first.
function gather({ nodes, cells }, chosen, top, scratch) {
  const touched = [];
  for (const cell of chosen) {
    for (let node = cells.node[cell]; node >= 0 && scratch.seen[node] !== top; node = nodes.parent[node]) {
      scratch.seen[node] = top;
      scratch.wall[node] = scratch.idle[node] = scratch.cpu[node] = 0;
      touched.push(node);
    }
    const node = cells.node[cell];
    scratch.wall[node] += cells.wall[cell];
    scratch.idle[node] += cells.idle[cell];
    scratch.cpu[node] += cells.cpu[cell];
  }
  return Int32Array.from(touched).sort();
}

// The time in and below each node: a function's place is its heaviest line.
function weigh(parent, touched, scratch, metric) {
  for (const node of touched) scratch.weight[node] = scratch[metric][node];
  for (let at = touched.length - 1; at >= 0; at--) {
    const node = touched[at];
    if (parent[node] >= 0) scratch.weight[parent[node]] += scratch.weight[node];
  }
}

function summedUp(boxes) {
  const { parent, wall, idle, cpu } = boxes;
  const self = { selfWall: wall.slice(), selfIdle: idle.slice(), selfCpu: cpu.slice() };
  for (let box = boxes.count - 1; box > 0; box--) {
    const caller = parent[box];
    wall[caller] += wall[box];
    idle[caller] += idle[box];
    cpu[caller] += cpu[box];
  }
  return { ...boxes, ...self };
}

// --- which cells ---------------------------------------------------------------------------

// A function that says whether a cell belongs to the view; an import is start-up whenever it runs.
function chooser({ slices, strings, nodes, cells }, { phase, from, to }) {
  const inRange = (slice) => slice >= from && slice < to;
  if (phase === null) return (cell) => inRange(cells.slice[cell]);
  const ofPhase = Uint8Array.from(slices.phase, (index) => index >= 0 && strings[index] === phase);
  return (cell) => {
    if (!inRange(cells.slice[cell])) return false;
    return nodes.importing[cells.node[cell]] ? phase === START_UP : ofPhase[cells.slice[cell]] === 1;
  };
}

// The boxes between the root and the frames, for each thread: `group` and `key` say which threads share one.
function topsOf({ processes, threads, strings }, group) {
  const roles = Array.from(processes.role, (role) => strings[role]);
  const sharing = new Map();
  for (const role of roles) sharing.set(role, (sharing.get(role) ?? 0) + 1);
  const tops = Array.from(threads.process, (process, thread) => {
    const role = roles[process];
    const isMerged = group === "role" && sharing.get(role) > 1;
    const name = strings[threads.label[thread]] || "thread";
    return {
      group: isMerged ? role : process,
      groupName: isMerged ? `${role}, ${sharing.get(role)} processes` : `${role}, pid ${processes.pid[process]}`,
      name,
      key: group === "thread" ? thread : pooled(name),
    };
  });
  return group === "thread" ? tops : withCommonNames(tops);
}

// The threads of a pool are told apart by numbers, and do the same.
function pooled(name) {
  return name.replace(/\d+/g, "*");
}

function withCommonNames(tops) {
  const names = new Map();
  for (const { group, key, name } of tops) {
    const place = `${group} ${key}`;
    names.set(place, !names.has(place) || names.get(place) === name ? name : key);
  }
  return tops.map((top) => ({ ...top, name: names.get(`${top.group} ${top.key}`) }));
}
