// What the colour of a box says: whose code it is, which finding it belongs to, or what it costs
// more or less than before. The colours themselves are in flamegraph.css.

import { isFrameless } from "./layout.js";

const FINDINGS_APART = 7; // more colours than these cannot be told apart
// Of the base's time per step: where a stronger colour begins.
const MUCH = [0.005, 0.02];

const PACKAGES = [
  ["yours j0", "your code"],
  ["library j0", "libraries"],
  ["stdlib j0", "standard library"],
  ["runtime j0", "runtime"],
  ["thread j0", "processes, threads"],
];
const CHANGES = [
  ["less3", "less: by 2 % of the base's step or more"],
  ["less2", "by 0.5 to 2 %"],
  ["less1", "by under 0.5 %"],
  ["same", "within the noise"],
  ["more1", "more: by under 0.5 %"],
  ["more2", "by 0.5 to 2 %"],
  ["more3", "by 2 % or more"],
];

export function classOf(tree, box, colours) {
  if (colours === "change" && tree.change) return ofChange(tree.change[box], tree.clear[box]);
  const kind = tree.kindOf(box);
  if (colours === "finding" && !isFrameless(kind)) return ofFinding(tree.finding[box]);
  const names = `${kind} j${tree.shade[box]}`;
  return isMostlyWaiting(tree, box) ? `${names} waiting` : names;
}

function isMostlyWaiting(tree, box) {
  return tree.metric === "wall" && tree.wall[box] > 0 && tree.idle[box] * 2 >= tree.wall[box];
}

function ofFinding(rank) {
  return rank > 0 ? `f${Math.min(rank, FINDINGS_APART + 1)}` : "plain";
}

function ofChange(change, isClear) {
  if (!isClear) return "same";
  const level = 1 + MUCH.filter((least) => Math.abs(change) >= least).length;
  return `${change < 0 ? "less" : "more"}${level}`;
}

// What each colour means: {names, text}, `names` being the classes of a swatch.
export function legendOf(tree, colours) {
  if (colours === "change") return CHANGES.map(([names, text]) => ({ names, text }));
  if (colours === "finding") return [...ofFindings(tree), { names: "plain", text: "no finding" }];
  const waiting = tree.metric === "wall" ? [["yours j0 waiting", "mostly waiting"]] : [];
  return [...PACKAGES, ...waiting].map(([names, text]) => ({ names, text }));
}

function ofFindings(tree) {
  const drawn = new Set(tree.finding);
  const listed = tree.findings.filter(({ rank }) => drawn.has(rank)).sort((one, other) => one.rank - other.rank);
  const apart = listed.filter(({ rank }) => rank <= FINDINGS_APART);
  const entries = apart.map(({ rank, title }) => ({ names: ofFinding(rank), text: `${rank}: ${title}` }));
  if (listed.length > apart.length) entries.push({ names: ofFinding(FINDINGS_APART + 1), text: "further findings" });
  return entries;
}
