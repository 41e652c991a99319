// What is chosen, in the address of the page: a link to a view can be shared, and the browser's Back undoes a choice.
import { fromHash, isView, toHash } from "./viewstate.js";

const QUIET = ["typing", "zoom"]; // these change the address without a step of history

export function limitsOf(data) {
  return {
    phases: data.phases.map(({ name }) => name),
    slices: data.slices.start.length,
    ranks: data.findings.map(({ rank }) => rank),
  };
}

export function readAddress(limits) {
  const hash = location.hash.slice(1);
  return fromHash(isView(hash) ? hash : "", limits);
}

export function followAddress(store, limits) {
  let pending = null; // "push" or "replace": several changes of one moment are one step
  store.subscribe((state, changed, how) => {
    if (how === "address") return;
    if (pending === null) queueMicrotask(write);
    if (pending !== "push") pending = QUIET.includes(how) ? "replace" : "push";
  });
  // An anchor such as "#findings" leaves the view as it is.
  addEventListener("popstate", () => {
    const hash = location.hash.slice(1);
    if (isView(hash)) store.set(fromHash(hash, limits), "address");
  });

  function write() {
    const how = pending;
    pending = null;
    const hash = toHash(store.get());
    if (hash === location.hash.slice(1)) return;
    try {
      history[`${how}State`](null, "", hash ? `#${hash}` : location.pathname + location.search);
    } catch {
      // Some viewers show a file without an address of its own: then there is no link to share.
    }
  }
}
