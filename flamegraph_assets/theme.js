// Light, dark, or as the system has it. Kept for as long as the page is open: a file may store nothing.
// A script by itself: it works on pages without data too. What draws on a canvas watches `data-theme`.
(() => {
  "use strict";
  const THEMES = ["auto", "light", "dark"];
  const { dataset } = document.documentElement;
  const button = document.getElementById("theme");
  let theme = "auto";

  function show() {
    if (theme === "auto") delete dataset.theme;
    else dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  }

  if (button === null) return;
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    show();
  });
  button.hidden = false;
  show();
})();
