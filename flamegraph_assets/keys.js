// What the keys do in a flamegraph.

// Returns a function that says whether a key meant something here; then nothing else should act on it.
export function answerKeys(shown, { zoom, selection, drawing, matches, nextMatch, onSearchKey, onSearchCleared }) {
  const keys = {
    "/": () => onSearchKey(),
    Escape: undo,
    Backspace: () => zoom.out(),
    0: () => zoom.reset(),
    n: () => nextMatch(1),
    N: () => nextMatch(-1),
    Enter: () => selection.selected() >= 0 && zoom.to(selection.selected()),
    ArrowUp: selection.walk,
    ArrowDown: selection.walk,
    ArrowLeft: selection.walk,
    ArrowRight: selection.walk,
  };

  // One thing at a time, the last one first.
  function undo() {
    if (selection.selected() >= 0) selection.select(-1);
    else if (drawing.hasHighlights()) drawing.highlight([]);
    else if (zoom.out()) return true;
    else if (matches.pattern()) {
      matches.searchFor("");
      onSearchCleared();
    } else return false;
    return true;
  }

  return (event) => {
    if (shown.tree === null || event.ctrlKey || event.metaKey || event.altKey) return false;
    const action = Object.hasOwn(keys, event.key) ? keys[event.key] : null;
    if (!action || action(event.key) === false) return false;
    event.preventDefault();
    return true;
  };
}
