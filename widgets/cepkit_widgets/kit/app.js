// Shows HTML that Python makes and tells Python what the reader does with it.
// Elements say what they mean: data-set="name" is a value, data-do="name" an action,
// data-keys="name" a place whose arrow keys are an action, data-copy a text for the clipboard,
// data-panel="name" the part of an app that is asked.

const MOVES = ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"];
const PATIENCE = 8000;

function dark() {
  const { jpThemeLight, vscodeThemeKind, theme } = document.body.dataset;
  if (jpThemeLight) return jpThemeLight === "false";
  if (vscodeThemeKind) return vscodeThemeKind.includes("dark");
  if (theme === "light" || theme === "dark") return theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The panel that an element belongs to, and the name of a value in it. */
const panel = (element) => element.closest("[data-panel]")?.dataset.panel;
const named = (set, of) => (set === undefined ? undefined : `${of ?? ""}/${set}`);
const name = (element) => named(element.dataset.set, panel(element));

/** Makes what is shown equal to what was made; elements that stay keep their focus. */
function morph(own, made, held) {
  if (own.nodeType !== Node.ELEMENT_NODE) {
    if (own.data !== made.data) own.data = made.data;
    return;
  }
  // What the reader sets may differ from what is written: those are looked at, one by one.
  if (own.isEqualNode(made) && !own.dataset.set && !own.querySelector("[data-set]")) return;
  for (const { name } of [...own.attributes]) {
    // Whether the reader has opened something is the reader's.
    if (!made.hasAttribute(name) && !(own.nodeName === "DETAILS" && name === "open")) own.removeAttribute(name);
  }
  for (const { name, value } of made.attributes) {
    if (own.getAttribute(name) !== value) own.setAttribute(name, value);
  }
  children(own, made, held);
  if (own.dataset.set && !held(name(own))) {
    if (own.type === "checkbox") own.checked = made.hasAttribute("checked");
    else if (own.value !== made.value) own.value = made.value;
  }
}

function children(own, made, held) {
  const count = made.childNodes.length;
  [...made.childNodes].forEach((child, i) => {
    const there = own.childNodes[i];
    if (!there) own.append(child);
    else if (there.nodeName !== child.nodeName || there.dataset?.key !== child.dataset?.key) there.replaceWith(child);
    else morph(there, child, held);
  });
  while (own.childNodes.length > count) own.lastChild.remove();
}

function render({ model, el }) {
  const host = document.createElement("div");
  // JupyterLab takes keys before the page does, unless this is said.
  host.dataset.lmSuppressShortcuts = "true";
  host.className = "cepkit-app-host";
  const root = host.attachShadow({ mode: "open" });
  const style = document.createElement("style");
  style.textContent = STYLE;
  const place = document.createElement("div");
  place.className = "cepkit-app";
  root.append(style, place);
  el.append(host);

  const queue = [];
  const sent = new Map();
  let last = 0;
  let answered = 0;
  let since = 0;
  // What is being typed and not yet sent is the reader's as well.
  let unsent = null;
  const key = (message) => named(message.set, message.panel);
  const held = (name) => (sent.get(name) ?? 0) > answered || name === unsent || queue.some((m) => key(m) === name);

  const flush = () => {
    if (!queue.length) return;
    if (last > answered && performance.now() - since < PATIENCE) return;
    const message = queue.shift();
    last = Math.max(last + 1, Date.now());
    since = performance.now();
    if (message.set) sent.set(key(message), last);
    model.send({ ...message, n: last });
  };
  const say = (message, from) => {
    if (from && panel(from)) message.panel = panel(from);
    // While an answer is awaited only the latest value of a control matters.
    if (key(message) === unsent) unsent = null;
    const same = message.set ? queue.findIndex((m) => key(m) === key(message)) : -1;
    if (same >= 0) queue.splice(same, 1);
    queue.push(message);
    flush();
  };

  const show = () => {
    const template = document.createElement("template");
    template.innerHTML = model.get("html");
    const made = template.content.firstElementChild;
    answered = Math.max(answered, Number(made?.dataset.answered ?? 0));
    const given = document.createElement("div");
    given.append(template.content);
    const begin = performance.now();
    children(place, given, held);
    host.dataset.morph = (performance.now() - begin).toFixed(1);
    host.dataset.answered = answered;
    written.shown();
    flush();
  };

  const written = editors(place, say);
  const value = (target) => (target.type === "checkbox" ? target.checked : target.value);
  let typing;
  place.addEventListener("input", (event) => {
    const target = event.target.closest("[data-set]");
    if (!target || target.nodeName === "SELECT" || target.type === "checkbox") return;
    unsent = name(target);
    if (target.nodeName === "TEXTAREA") return;
    clearTimeout(typing);
    const tell = () => say({ set: target.dataset.set, value: value(target) }, target);
    if (target.type === "range") tell();
    else typing = setTimeout(tell, 250);
  });
  place.addEventListener("change", (event) => {
    const target = event.target.closest("[data-set]");
    if (!target || target.type === "range" || target.nodeName === "TEXTAREA") return;
    clearTimeout(typing);
    say({ set: target.dataset.set, value: value(target) }, target);
  });
  place.addEventListener("click", (event) => {
    const target = event.target.closest("[data-do], [data-copy]");
    if (!target || target.disabled) return;
    if (target.dataset.copy !== undefined) navigator.clipboard?.writeText(target.dataset.copy);
    else say({ do: target.dataset.do, value: target.dataset.value ?? null }, target);
  });
  place.addEventListener("keydown", (event) => {
    const mark = event.target.closest("[data-rove] [data-do]");
    if (mark && ["Enter", " "].includes(event.key)) {
      event.preventDefault();
      say({ do: mark.dataset.do, value: mark.dataset.value }, mark);
    } else if (mark && ["ArrowLeft", "ArrowRight"].includes(event.key)) {
      event.preventDefault();
      const marks = [...mark.closest("[data-rove]").querySelectorAll("[data-do]")].sort((a, b) => a.dataset.at - b.dataset.at);
      marks[marks.indexOf(mark) + (event.key === "ArrowLeft" ? -1 : 1)]?.focus();
    }
    const target = event.target.closest("[data-keys]");
    if (event.target.matches("input, select, textarea") || event.altKey || event.ctrlKey || event.metaKey) return;
    if (target && MOVES.includes(event.key)) {
      event.preventDefault();
      say({ do: target.dataset.keys, value: event.key }, target);
    }
  });

  const theme = () => (place.dataset.theme = dark() ? "dark" : "light");
  const themes = new MutationObserver(theme);
  themes.observe(document.body, { attributes: true });
  theme();
  let width = 0;
  const sizes = new ResizeObserver(([entry]) => {
    written.shown(); // a list of words stands beside the caret, wherever that is now
    const now = Math.floor(entry.contentRect.width / 20) * 20;
    if (now > 0 && now !== width) say({ set: "width", value: (width = now) });
  });
  sizes.observe(host);
  model.on("change:html", show);
  show();
  // A link to what an app showed: the part of the address that browsers keep to themselves.
  if (place.querySelector("[data-link]") && location.hash.startsWith("#cepkit=")) say({ set: "link", value: location.hash });
  return () => {
    model.off("change:html", show);
    themes.disconnect();
    sizes.disconnect();
  };
}

export default { render };
