// What a flamegraph computes before it draws: positions, search, walking, words. No DOM here.
//
// A tree is a set of columns in preorder; box 0 is the root. `width` is in the metric's µs,
// `end` is one past the last box below a box.

export function makeTree(frames, metric) {
  const count = frames.parent.length;
  const width = metric === "cpu" ? frames.cpu : frames.wall;
  const depth = new Array(count).fill(0);
  const start = new Array(count).fill(0);
  const filled = new Array(count).fill(0);
  const end = Array.from({ length: count }, (_, box) => box + 1);
  for (let box = 1; box < count; box++) {
    const parent = frames.parent[box];
    depth[box] = depth[parent] + 1;
    start[box] = start[parent] + filled[parent];
    filled[parent] += width[box];
  }
  for (let box = count - 1; box > 0; box--) {
    end[frames.parent[box]] = Math.max(end[frames.parent[box]], end[box]);
  }
  return { count, parent: frames.parent, width, depth, start, end };
}

export function ancestors(tree, box) {
  const found = [];
  for (let up = tree.parent[box]; up >= 0; up = tree.parent[up]) found.unshift(up);
  return found;
}

// The boxes to draw when `focus` fills `pixels`: its callers above it, as wide as it, and
// everything below it that is at least `thinnest` pixels wide.
export function layout(tree, focus, pixels, thinnest) {
  const boxes = ancestors(tree, focus).map((box) => ({ box, x: 0, width: pixels, above: true }));
  const scale = tree.width[focus] > 0 ? pixels / tree.width[focus] : 0;
  let box = focus;
  while (box < tree.end[focus]) {
    const width = box === focus ? pixels : tree.width[box] * scale;
    if (width < thinnest) {
      box = tree.end[box];
      continue;
    }
    boxes.push({ box, x: (tree.start[box] - tree.start[focus]) * scale, width, above: false });
    box += 1;
  }
  return boxes;
}

// A pattern with a capital letter minds case; one that is no regular expression is taken literally.
export function compile(pattern) {
  const flags = /[A-Z]/.test(pattern.replace(/\\./g, "")) ? "u" : "iu";
  try {
    return { expression: new RegExp(pattern, flags), literal: false };
  } catch {
    const escaped = pattern.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
    return { expression: new RegExp(escaped, flags), literal: true };
  }
}

export function search(tree, text, expression) {
  const matches = [];
  for (let box = 0; box < tree.count; box++) if (expression.test(text(box))) matches.push(box);
  return matches;
}

// The part of `focus` spent in or below matching boxes. Time below two nested matches counts
// once; a match above `focus` covers all of it.
export function matchShare(tree, matches, focus) {
  const matching = new Set(matches);
  if ([...ancestors(tree, focus), focus].some((box) => matching.has(box))) return 1;
  let matched = 0;
  let box = focus + 1;
  while (box < tree.end[focus]) {
    if (matching.has(box)) {
      matched += tree.width[box];
      box = tree.end[box];
    } else {
      box += 1;
    }
  }
  return tree.width[focus] > 0 ? matched / tree.width[focus] : 0;
}

// The box that an arrow key leads to from `box`, within `focus`; `box` itself at an edge.
export function neighbour(tree, box, key, focus) {
  if (key === "ArrowUp") return tree.parent[box] >= 0 ? tree.parent[box] : box;
  if (key === "ArrowDown") return widestChild(tree, box);
  const step = key === "ArrowRight" ? 1 : -1;
  for (let next = box + step; next > focus && next < tree.end[focus]; next += step) {
    if (tree.depth[next] === tree.depth[box] && tree.width[next] > 0) return next;
  }
  return box;
}

function widestChild(tree, box) {
  let widest = box;
  for (let child = box + 1; child < tree.end[box]; child = tree.end[child]) {
    if (widest === box || tree.width[child] > tree.width[widest]) widest = child;
  }
  return widest;
}

// The text of a box: with its place when both fit, else the name, else its beginning, else nothing.
export function elide(label, place, pixels, characterWidth) {
  const room = Math.floor(pixels / characterWidth);
  if (place && columns(label) + 2 + columns(place) <= room) return { label, place };
  // Of a module's top level, only the file tells which it is.
  if (label === "<module>" && place) return elide(place, "", pixels, characterWidth);
  if (columns(label) <= room) return { label, place: "" };
  if (room < 3) return { label: "", place: "" };
  let kept = "";
  let used = 1;
  for (const character of label) {
    used += columns(character);
    if (used > room) break;
    kept += character;
  }
  return { label: kept + "…", place: "" };
}

// Cells in a fixed-width font; East Asian characters and emoji take two.
export function columns(text) {
  let cells = 0;
  for (const character of text) cells += character.codePointAt(0) >= 0x1100 && !isNarrow(character) ? 2 : 1;
  return cells;
}

function isNarrow(character) {
  const code = character.codePointAt(0);
  return code >= 0x1e00 && code < 0x2e80;
}

// As rlprof/units.py says them.
export function duration(us) {
  if (us < 1000) return `${us.toFixed(0)} µs`;
  if (us < 1e6) return `${Number((us / 1000).toPrecision(3))} ms`;
  const seconds = us / 1e6;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

export function percent(share) {
  const value = share * 100;
  return value < 9.95 ? `${value.toFixed(1)} %` : `${value.toFixed(0)} %`;
}
