// Boxes of a tree under construction, callers before what they call, and their order for drawing.
//
// Columns: `parent`, `node` and `key` (what is merged by; both -1 for what is no frame), and times. `heads`
// has name and kind of what is no frame, `ranks` the findings of boxes that belong to any: Map(rank -> the
// time that the finding has there itself, in the metric at hand).

export const TIMES = ["wall", "idle", "cpu"];
const SELF_TIMES = ["selfWall", "selfIdle", "selfCpu"];

export function newBoxes(name) {
  const room = 1024;
  const boxes = { count: 0, ...columnsFor(room), heads: new Map(), ranks: new Map(), table: new Int32Array(2 * room) };
  addHead(boxes, -1, name, "root");
  return boxes;
}

function columnsFor(room) {
  const integers = Object.fromEntries(["parent", "node", "key"].map((name) => [name, new Int32Array(room)]));
  return { ...integers, ...Object.fromEntries(TIMES.map((name) => [name, new Float64Array(room)])) };
}

export function addHead(boxes, parent, name, kind) {
  const box = addBox(boxes, parent, -1, -1);
  boxes.heads.set(box, { name, kind });
  return box;
}

export function addBox(boxes, parent, node, key) {
  if (boxes.count === boxes.parent.length) grow(boxes);
  const box = boxes.count++;
  boxes.parent[box] = parent;
  boxes.node[box] = node;
  boxes.key[box] = key;
  return box;
}

function grow(boxes) {
  const larger = columnsFor(2 * boxes.count);
  for (const name of Object.keys(larger)) larger[name].set(boxes[name]);
  Object.assign(boxes, larger, { table: new Int32Array(4 * boxes.count) });
  for (let box = 0; box < boxes.count; box++) if (boxes.key[box] >= 0) boxes.table[slotOf(boxes, boxes.parent[box], boxes.key[box])] = box + 1;
}

// The box of `key` below `parent`, new if there is none.
export function childOf(boxes, parent, key, node) {
  const found = boxes.table[slotOf(boxes, parent, key)] - 1;
  if (found >= 0) return found;
  const box = addBox(boxes, parent, node, key);
  boxes.table[slotOf(boxes, parent, key)] = box + 1;
  return box;
}

// Where `table` has, or should have, that box: a Map of such pairs takes several times as long.
function slotOf(boxes, parent, key) {
  const last = boxes.table.length - 1;
  let slot = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(key, 0x85ebca6b)) >>> 7;
  for (;;) {
    slot &= last;
    const box = boxes.table[slot] - 1;
    if (box < 0 || (boxes.parent[box] === parent && boxes.key[box] === key)) return slot;
    slot++;
  }
}

// `own` is [rank, time] of each finding.
export function addRanks(ranks, at, own) {
  const times = ranks.get(at) ?? ranks.set(at, new Map()).get(at);
  for (const [rank, time] of own) times.set(rank, (times.get(rank) ?? 0) + time);
}

// Preorder. Boxes with nothing in `width` are left out (null keeps all); siblings stand in the order of
// `rank` by key, boxes without a key as they were found.
export function inOrder(boxes, rank, width) {
  const { count, key } = boxes;
  const first = new Int32Array(rank.length + 2); // of each place, where its boxes begin
  for (let box = 0; box < count; box++) first[key[box] < 0 ? 1 : rank[key[box]] + 2]++;
  for (let at = 1; at < first.length; at++) first[at] += first[at - 1];
  const siblings = new Int32Array(count);
  for (let box = 0; box < count; box++) siblings[first[key[box] < 0 ? 0 : rank[key[box]] + 1]++] = box;
  return preorder(boxes, siblings, width);
}

// As inOrder, with `siblings`: all boxes, brothers and sisters among them as they are to be drawn.
export function preorder(boxes, siblings, width) {
  const { count } = boxes;
  const firstChild = new Int32Array(count).fill(-1);
  const nextSibling = new Int32Array(count).fill(-1);
  for (let at = count - 1; at >= 0; at--) {
    const box = siblings[at];
    if (box === 0 || (width && !(width[box] > 0))) continue;
    nextSibling[box] = firstChild[boxes.parent[box]];
    firstChild[boxes.parent[box]] = box;
  }
  const old = new Int32Array(count); // of each new place, the box that comes there
  const parent = new Int32Array(count);
  const end = new Int32Array(count);
  let placed = 0;
  let caller = -1;
  let box = 0;
  for (;;) {
    if (box >= 0) {
      old[placed] = box;
      parent[placed] = caller;
      caller = placed++;
      box = firstChild[box];
      continue;
    }
    end[caller] = placed;
    box = nextSibling[old[caller]];
    caller = parent[caller];
    if (caller < 0) break;
  }
  return moved(boxes, old.subarray(0, placed), { parent: parent.slice(0, placed), end: end.slice(0, placed) });
}

function moved(boxes, old, columns) {
  const found = { count: old.length, ...columns, heads: new Map(), ranks: new Map() };
  for (const name of ["node", "key", ...TIMES, ...SELF_TIMES]) {
    const from = boxes[name];
    const to = new from.constructor(old.length);
    for (let at = 0; at < to.length; at++) to[at] = from[old[at]];
    found[name] = to;
  }
  for (let at = 0; at < old.length; at++) {
    for (const name of ["heads", "ranks"]) if (boxes[name].has(old[at])) found[name].set(at, boxes[name].get(old[at]));
  }
  return found;
}
