// The table of functions: sorted by any column, filtered by name, and a way into the flamegraph.
import { button, make } from "./elements.js";
import { functionRows } from "./calltree.js";
import { duration, percent } from "./figures.js";
import { compile, literally } from "./layout.js";
import { compareTexts } from "./nodenames.js";

const COLUMNS = [
  { key: "label", title: "Function" },
  { key: "self", title: "Self", isTime: true },
  { key: "total", title: "Total", isTime: true },
  { key: "cpu", title: "Total on CPU", isTime: true },
  { key: "idle", title: "Total waiting", isTime: true },
];
const AT_ONCE = 100;
const METRICS = { wall: "wall time", cpu: "time on a CPU", idle: "waiting time" };

export function sortRows(rows, key, isFalling) {
  const sign = isFalling ? -1 : 1;
  const order = key === "label" ? (a, b) => compareTexts(a.label, b.label) || compareTexts(a.file, b.file) : (a, b) => a[key] - b[key];
  return [...rows].sort((a, b) => sign * order(a, b));
}

export function filterRows(rows, pattern) {
  if (!pattern) return rows;
  const { expression } = compile(pattern);
  return rows.filter((row) => expression.test(`${row.label} ${row.file}`));
}

// A search of the flamegraph that finds this function and, but for files with the same end of their path, no other.
export function patternOf(row) {
  // A file's short form need not be part of its path.
  const place = row.file.endsWith(row.short) ? row.short : row.file;
  return place ? `^${literally(row.label)} .*${literally(place)}` : `^${literally(row.label)} $`;
}

export function createFunctions(data, store, { controls, container }, onChosen) {
  const state = { rows: [], whole: 0, key: "self", isFalling: true, pattern: "", shown: AT_ONCE };
  const filter = make("input", { type: "search", spellcheck: "false", autocomplete: "off" });
  const told = make("output", { "aria-live": "polite" });
  const headers = new Map(COLUMNS.map((column) => [column.key, header(column)]));
  const body = make("tbody");
  const caption = make("caption");
  const table = make("table", { class: "functions" }, caption, make("thead", {}, make("tr", {}, ...headers.values())), body);
  const more = button(`Show ${AT_ONCE} more`, { class: "more" }, showMore);
  controls.replaceChildren(make("label", { class: "choice" }, make("span", {}, "Filter by name or file"), filter), told);
  container.replaceChildren(make("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": "Functions" }, table), more);
  filter.addEventListener("input", () => {
    Object.assign(state, { pattern: filter.value, shown: AT_ONCE });
    draw();
  });

  function show(view) {
    state.rows = functionRows(data, { ...view, lines: false, inverted: false });
    state.whole = state.rows.reduce((sum, row) => sum + row.self, 0);
    state.shown = AT_ONCE;
    caption.textContent = `Functions by ${METRICS[view.metric]}`;
    draw();
  }

  function draw() {
    const rows = sortRows(filterRows(state.rows, state.pattern), state.key, state.isFalling);
    const shown = rows.slice(0, state.shown);
    body.replaceChildren(...shown.map((row) => rowOf(row, state.whole, onChosen)));
    for (const [key, cell] of headers) {
      if (key === state.key) cell.setAttribute("aria-sort", state.isFalling ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    more.hidden = shown.length === rows.length;
    told.textContent = wordsFor(rows.length, shown.length, state.rows.length);
  }

  function header({ key, title, isTime }) {
    const name = button(title, {}, () => sortBy(key, isTime === true));
    return make("th", { scope: "col", class: isTime ? "time" : "text" }, name);
  }

  // Times begin with the greatest, names with the first of the alphabet.
  function sortBy(key, isFallingFirst) {
    const isFalling = state.key === key ? !state.isFalling : isFallingFirst;
    Object.assign(state, { key, isFalling, shown: AT_ONCE });
    draw();
  }

  // The focus goes to the first of the new rows: the button may be gone.
  function showMore() {
    const first = state.shown;
    state.shown += AT_ONCE;
    draw();
    body.rows[first]?.querySelector("button").focus();
  }

  return { show };
}

function rowOf(row, whole, onChosen) {
  const name = button(row.label, { class: "name", title: "Find it in the flamegraph" }, () => onChosen(patternOf(row)));
  const place = row.file ? make("span", { class: "place", title: row.file }, `${row.short}:${row.line}`) : "";
  const times = COLUMNS.filter(({ isTime }) => isTime).map(({ key }) => timeCell(row, key, whole));
  return make("tr", {}, make("th", { scope: "row" }, name, place), ...times);
}

function timeCell(row, key, whole) {
  const cell = make("td", {}, make("span", { class: "time" }, row[key] > 0 ? duration(row[key]) : "–"));
  const isShare = (key === "self" || key === "total") && whole > 0 && row[key] > 0;
  if (isShare) cell.append(make("span", { class: "share" }, percent(row[key] / whole)));
  return cell;
}

function wordsFor(found, shown, all) {
  if (all === 0) return "Nothing was recorded in what is chosen.";
  if (found === 0) return "No function matches.";
  const functions = found === 1 ? "1 function" : `${found} functions`;
  const filtered = found < all ? ` of ${all}` : "";
  return shown < found ? `${functions}${filtered}, the first ${shown} shown` : `${functions}${filtered}`;
}
