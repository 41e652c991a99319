// What a search of a flamegraph found, and the way from match to match.
import { compile, matchShare, search } from "./layout.js";

const NOTHING_FOUND = { share: 0, count: 0, literal: false, pattern: "" };

// `shown` is {tree, focus}; `onMatches` hears {share, count, literal, pattern} with every drawing.
export function createMatches(shown, drawing, onMatches) {
  let found = NOTHING_FOUND;
  let matches = [];
  let isMatch = new Uint8Array(0);

  function find() {
    const { expression, literal } = compile(found.pattern);
    matches = found.pattern && shown.tree ? search(shown.tree, expression) : [];
    isMatch = new Uint8Array(shown.tree?.count ?? 0);
    for (const box of matches) isMatch[box] = 1;
    found = { ...found, literal: literal && found.pattern !== "", count: matches.length };
  }

  function draw() {
    if (shown.tree === null) return;
    drawing.showMatches(isMatch, matches.length > 0);
    found = { ...found, share: matches.length ? matchShare(shown.tree, matches, shown.focus) : 0 };
    onMatches(found);
  }

  function searchFor(pattern) {
    found = { ...NOTHING_FOUND, pattern };
    find();
    draw();
    return found;
  }

  // The match that is `step` further than a box, of those that are drawn; -1 for none.
  function next(box, step) {
    const drawn = matches.filter((match) => drawing.has(match));
    if (drawn.length === 0) return -1;
    const at = drawn.indexOf(box);
    if (at < 0) return step > 0 ? drawn[0] : drawn.at(-1);
    return drawn[(at + step + drawn.length) % drawn.length];
  }

  return { find, draw, searchFor, next, pattern: () => found.pattern };
}
