// A text with words to choose from: [data-editor] holds a textarea, a list of words below it and a
// copy of the text behind it, in which Python marks what is wrong. The list belongs to one text and
// one caret: it is shown only while these are what the reader sees.

/** Takes the keys of editors inside of `place`, and tells what is typed by `say`. */
function editors(place, say) {
  const parts = (area) => {
    const editor = area.closest("[data-editor]");
    return { list: editor.querySelector("[role=listbox]"), mark: editor.querySelector("[data-mark]"), editor };
  };
  const options = (list) => [...list.querySelectorAll("[role=option]")];
  let typing;
  const tell = (area, asked = false) => {
    clearTimeout(typing); // or what was typed before would take the list away that is asked for now
    say({ set: area.dataset.set, value: { text: area.value, caret: area.selectionStart, asked } }, area);
  };
  let dismissed = false;
  // The chosen word, and the text and caret that it was chosen for: Python knows nothing of it.
  let chosen = { at: -1, of: "" };
  const seen = (list) => `${list.dataset.length}/${list.dataset.caret}/${list.dataset.asked}`;

  const choose = (area, list, at) => {
    const all = options(list);
    all.forEach((option, i) => option.setAttribute("aria-selected", i === at));
    chosen = { at, of: seen(list) };
    if (at < 0) area.removeAttribute("aria-activedescendant");
    else {
      area.setAttribute("aria-activedescendant", all[at].id);
      all[at].scrollIntoView({ block: "nearest" });
    }
  };
  const close = (area) => {
    const { list } = parts(area);
    list.hidden = true;
    area.removeAttribute("aria-activedescendant");
    chosen = { at: -1, of: "" };
  };
  /** Shows the list where it belongs to what is seen. */
  const show = (area) => {
    const { list, mark, editor } = parts(area);
    const words = options(list).length;
    const fits = Number(list.dataset.length) === area.value.length && Number(list.dataset.caret) === area.selectionStart
      && area.selectionStart === area.selectionEnd && area.getRootNode().activeElement === area;
    if (!words || !fits || dismissed) return close(area);
    const first = list.dataset.asked === "true" ? 0 : -1;
    list.hidden = false;
    const from = mark.getBoundingClientRect(), of = editor.getBoundingClientRect();
    list.style.top = `${from.bottom - of.top + 2}px`;
    list.style.left = `${Math.max(0, Math.min(from.left - of.left, of.width - list.offsetWidth))}px`;
    choose(area, list, chosen.of === seen(list) ? chosen.at : first);
  };
  const accept = (area, option) => {
    const { list } = parts(area);
    area.setRangeText(option.dataset.insert, Number(list.dataset.begin), Number(list.dataset.end), "end");
    close(area);
    area.focus();
    tell(area);
  };

  place.addEventListener("input", (event) => {
    const area = event.target.closest("[data-editor] textarea");
    if (!area) return;
    dismissed = false;
    clearTimeout(typing);
    typing = setTimeout(() => tell(area), 60);
  });
  place.addEventListener("keydown", (event) => {
    const area = event.target.closest("[data-editor] textarea");
    if (!area) return;
    const { list } = parts(area);
    const all = options(list);
    const { at } = chosen;
    if (event.key === " " && event.ctrlKey) {
      dismissed = false;
      tell(area, true);
    } else if (list.hidden || !all.length || event.altKey || event.ctrlKey || event.metaKey) return;
    else if (event.key === "ArrowDown") choose(area, list, (at + 1) % all.length);
    else if (event.key === "ArrowUp") choose(area, list, (at <= 0 ? all.length : at) - 1);
    else if (event.key === "Escape") {
      dismissed = true;
      close(area);
    } else if (at >= 0 && !event.shiftKey && ["Enter", "Tab"].includes(event.key)) accept(area, all[at]);
    else return;
    event.preventDefault();
  });
  place.addEventListener("keyup", ({ target }) => target.matches?.("[data-editor] textarea") && show(target));
  // JupyterLab refuses line ends in what it takes for its own.
  place.addEventListener("beforeinput", (event) => event.stopPropagation());
  place.addEventListener("focusout", ({ target }) => target.matches?.("[data-editor] textarea") && close(target));
  place.addEventListener("mousedown", (event) => {
    const option = event.target.closest("[data-editor] [role=option]");
    if (!option) return;
    // The text keeps the focus.
    event.preventDefault();
    accept(option.closest("[data-editor]").querySelector("textarea"), option);
  });
  return { shown: () => place.querySelectorAll("[data-editor] textarea").forEach(show) };
}
