// A tree turned around: functions first, their callers below them.

import { addBox, addHead, addRanks, newBoxes, preorder, TIMES } from "./boxes.js";

// Of all: callers of what is thinner are not followed. A quarter of a pixel.
const THINNEST_FOLLOWED = 1 / 5_000;
// Beyond these, no further callers are followed: each call path is drawn from its end, and there may be millions.
const MOST_BOXES = 60_000;

// Below the root each function with the sum of its self times, below it its callers, wide before narrow. A box
// keeps the list of the boxes of `tree` that it stands for, with the part of the self times that comes from there.
export function invert(tree, metric) {
  const boxes = newBoxes(tree.heads.get(0).name);
  const self = { wall: tree.selfWall, idle: tree.selfIdle, cpu: tree.selfCpu };
  const leaves = [];
  for (let box = 1; box < tree.count; box++) {
    if (self[metric][box] > 0) leaves.push({ at: box, wall: self.wall[box], idle: self.idle[box], cpu: self.cpu[box] });
  }
  const latest = new Array(tree.count); // of each box of `tree`: the entry made for it last
  const pending = [[0, leaves]];
  let total = 0;
  for (const leaf of leaves) total += leaf[metric];
  for (let next = 0; next < pending.length; next++) {
    const [box, entries] = pending[next];
    pending[next] = null;
    const children = new Map();
    for (const entry of entries) {
      if (entry.at === 0) continue;
      const key = tree.heads.get(entry.at)?.name ?? tree.key[entry.at];
      if (!children.has(key)) children.set(key, []);
      children.get(key).push(entry);
    }
    for (const same of children.values()) {
      const child = standFor(boxes, tree, box, same, metric);
      const isFollowed = boxes[metric][child] >= total * THINNEST_FOLLOWED && boxes.count < MOST_BOXES;
      if (isFollowed) pending.push([child, callersOf(tree, same, latest)]);
    }
  }
  for (const column of TIMES) {
    for (const leaf of leaves) boxes[column][0] += leaf[column];
  }
  return widestFirst(boxes, metric);
}

function standFor(boxes, tree, caller, entries, metric) {
  const heaviest = entries.reduce((one, other) => (other[metric] > one[metric] ? other : one));
  const head = tree.heads.get(heaviest.at);
  const child = head ? addHead(boxes, caller, head.name, head.kind) : addBox(boxes, caller, tree.node[heaviest.at], tree.key[heaviest.at]);
  for (const entry of entries) {
    boxes.wall[child] += entry.wall;
    boxes.idle[child] += entry.idle;
    boxes.cpu[child] += entry.cpu;
    if (tree.ranks.has(entry.at)) addRanks(boxes.ranks, child, tree.ranks.get(entry.at));
  }
  return child;
}

// One entry for each caller, whatever the number of boxes it called.
function callersOf(tree, entries, latest) {
  const found = [];
  for (const { at, wall, idle, cpu } of entries) {
    const caller = tree.parent[at];
    let entry = latest[caller];
    if (!entry || entry.list !== found) {
      entry = { at: caller, wall: 0, idle: 0, cpu: 0, list: found };
      latest[caller] = entry;
      found.push(entry);
    }
    entry.wall += wall;
    entry.idle += idle;
    entry.cpu += cpu;
  }
  return found;
}

function widestFirst(boxes, metric) {
  const width = boxes[metric];
  const order = Int32Array.from({ length: boxes.count }, (_, box) => box);
  order.sort((a, b) => width[b] - width[a] || a - b);
  // What a function does itself is all of it below the root, and nothing further down.
  const own = (column) => column.map((time, box) => (boxes.parent[box] === 0 && box > 0 ? time : 0));
  const self = { selfWall: own(boxes.wall), selfIdle: own(boxes.idle), selfCpu: own(boxes.cpu) };
  return preorder({ ...boxes, ...self }, order, width);
}
