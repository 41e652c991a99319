// Elements of HTML made by scripts, in an SVG file too. Texts go in as text nodes: a name is never read as markup.

export function make(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/1999/xhtml", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export function button(text, attributes, whenPressed) {
  const made = make("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", whenPressed);
  return made;
}

// A <select> with its visible label; `options` are [value, text].
export function choice(text, options, whenChosen) {
  const select = make("select", {}, ...options.map(([value, words]) => make("option", { value }, words)));
  select.addEventListener("change", () => whenChosen(select.value));
  return { select, label: make("label", { class: "choice" }, make("span", {}, text), select) };
}

export function tick(text, attributes, whenChanged) {
  const box = make("input", { type: "checkbox" });
  box.addEventListener("change", () => whenChanged(box.checked));
  return { box, label: make("label", { class: "tick", ...attributes }, box, make("span", {}, text)) };
}

// Radio buttons side by side under one name; `options` are [value, text].
export function segments(legend, name, options, whenChosen) {
  const boxes = new Map(options.map(([value]) => [value, make("input", { type: "radio", name, value })]));
  const labels = options.map(([value, text]) => make("label", {}, boxes.get(value), make("span", {}, text)));
  const field = make("fieldset", { class: "segments" }, make("legend", {}, legend), ...labels);
  field.addEventListener("change", (event) => whenChosen(event.target.value));
  return {
    field,
    show(value) {
      boxes.get(value).checked = true;
    },
  };
}
