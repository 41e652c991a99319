// Which box fills the drawing of a flamegraph, and which ones did before. No DOM here.

// `shown` is what the parts of a flamegraph look at together: {tree, focus, colours}. `focus` is set here alone.
export function createZoomHistory(shown, onChange) {
  let former = [];

  function focusOn(box) {
    shown.focus = box;
    onChange();
  }

  return {
    canGoBack: () => former.length > 0,
    to(box) {
      if (box === shown.focus) return;
      former.push(shown.focus);
      focusOn(box);
    },
    out() {
      if (former.length === 0) return false;
      focusOn(former.pop());
      return true;
    },
    reset() {
      former = [];
      focusOn(0);
    },
    // Into another tree: `again` leads from a box to where it is now, null begins anew. Tells nobody.
    follow(again) {
      shown.focus = again ? again(shown.focus) : 0;
      former = again ? former.map(again).filter((box, at, all) => box !== (all[at + 1] ?? shown.focus)) : [];
    },
  };
}
