// ---------------------------------------------------------------- the whole

function toldMatches(matches) {
  const parts = matches.slice(0, MOST_TOLD).map((text) => `MATCH ${text}`);
  if (matches.length > MOST_TOLD) parts.push(`and ${counted(matches.length - MOST_TOLD, "more match", "more matches")}`);
  return parts;
}

function toldAll(tape, tracks, p, total) {
  if (total === 0) return "The stream is empty: there is nothing to play.";
  if (p === 0) return "Before the first event. Step on with →, play with the space bar.";
  const what = p > tape.moments.length ? "the stream ends" : momentText(tape, tape.moments[p - 1]);
  const whole = `Step ${p - 1}: ${what}`;
  // What is the same for all traces is said once.
  const matches = tracks.map((track) => track.matchTexts(p));
  const common = new Set(matches.map((texts) => [...texts].sort().join("\n"))).size === 1 ? toldMatches(matches[0]) : [];
  const bare = tracks.map((track, i) => {
    const parts = [...track.told(p), ...(common.length ? [] : toldMatches(matches[i]))];
    return parts.join("; ");
  });
  const end = common.length ? `${common.join("; ")}.` : "";
  const quiet = common.length ? "" : "nothing changes";
  if (new Set(bare).size === 1) {
    const what = bare[0] || quiet;
    const same = tracks.length > 1 && what ? `${what}, in all of them` : what;
    return [`${whole}${same ? `; ${same}` : ""}.`, end].join(" ").trim();
  }
  const own = tracks.map((track, i) => (bare[i] || quiet ? `${track.trace.name}: ${bare[i] || quiet}.` : ""));
  return [`${whole}.`, ...own.filter(Boolean), end].join(" ").trim();
}

/** What is played: how its traces are read, on which cards they are shown, what is charted. */
const KINDS = {
  "cepkit.trace/1": {
    Track, Card, counters: () => COUNTERS, name: "evaluation mechanisms",
    help: "a token or an instance to see where it came from",
  },
  "cepkit.counters/1": {
    Track: CounterTrack, Card: CounterCard, counters: countersOf, name: "prefix counters",
    help: "a START to see how its numbers arose",
  },
};

/** What players of one link say to each other, in a page without a kernel as well. */
const LINKED = "cepkit-step";

class Player {
  constructor(root, doc, options) {
    this.doc = doc;
    this.tape = new Tape(doc);
    this.kind = KINDS[doc.traces[0].schema];
    this.tracks = doc.traces.map((trace, i) => new this.kind.Track(trace, i, this.tape, doc));
    this.total = Math.max(0, ...doc.traces.map((trace) => trace.steps.length));
    this.matches = [...new Set(this.tracks.flatMap((track) => track.matchPositions))].sort((a, b) => a - b);
    this.listener = options.onstep ?? null;
    Object.assign(this, { timer: null, led: false, position: 0 });
    this.seek = this.seek.bind(this);
    this.build(root, options);
    this.link = options.link ?? null;
    this.follow = ({ detail }) => {
      if (this.link === null || detail.link !== this.link || detail.from === this) return;
      this.following = true;
      this.followed(detail);
      this.following = false;
    };
    document.addEventListener(LINKED, this.follow);
    this.seek(options.step ?? 0, true);
  }

  build(root, options) {
    this.host = h("div", { class: "cepkit-player", "data-lm-suppress-shortcuts": "true" });
    const shadow = this.host.attachShadow({ mode: "open" });
    this.pattern = new PatternView(this.doc);
    this.strip = new TapeView(this.tape, this.doc.traces[0], this.seek);
    this.cards = this.tracks.map((track) => new this.kind.Card(track, (card, id) => this.choose(card, id)));
    this.sentence = h("p", { class: `sentence${this.cards.length > 1 ? " long" : ""}`, role: "status", "aria-live": "polite" });
    this.quiz = this.doc.quiz ? new Quiz(this.doc.quiz, this.cards, this.tape, this.seek) : null;
    this.charts = this.kind.counters(this.tracks).map(([name, title]) => new Chart(name, title, this.tracks, this.total, this.seek));
    this.frame = h("div", { class: "player", tabindex: 0, role: "region", "aria-label": `player of ${this.kind.name}; ? lists the keys` },
      h("style", {}, STYLE), this.banner(), this.pattern.element, this.strip.element, this.quiz?.element, this.transport(), this.help(), this.sentence,
      h("div", { class: `cards of${this.cards.length === 3 ? 3 : Math.min(2, this.cards.length)}` }, ...this.cards.map((card) => card.element)),
      h("div", { class: "charts" }, ...this.charts.map((chart) => chart.element)));
    shadow.append(this.frame);
    root.append(this.host);
    this.theme = watchTheme(this.host, options.theme ?? "auto");
    const keys = (pressed) => this.key(pressed);
    const target = options.page ? document : this.frame;
    target.addEventListener("keydown", keys);
    this.watch = new ResizeObserver(() => this.fit());
    this.watch.observe(this.host);
    this.stop = () => {
      this.pause();
      document.removeEventListener(LINKED, this.follow);
      this.watch.disconnect();
      this.theme();
      target.removeEventListener("keydown", keys);
      this.host.remove();
    };
  }

  banner() {
    const { cut: shortened } = this.doc;
    return shortened ? h("p", { class: "banner", role: "note" }, shortened) : null;
  }

  transport() {
    const button = (name, text, action) => h("button", { type: "button", "aria-label": text, title: text, "data-action": name, onclick: action }, icon(name));
    this.playButton = button("play", "Play", () => this.toggle());
    this.speed = h("select", { "aria-label": "events per second", title: "events per second" },
      ...SPEEDS.map((speed) => h("option", { value: speed, selected: speed === 4 }, `${speed}/s`)));
    this.stops = stopsOf(this.tracks, this.matches);
    this.stopAt = h("select", { "aria-label": "stop at", title: "stop at" },
      ...[...this.stops.keys()].map((text) => h("option", { value: text }, text)));
    this.jump = h("input", { type: "text", class: "jump", "aria-label": "go to a step or an event", placeholder: "step, event",
      title: "the number of a step, or the name of an event; Enter goes there",
      // JupyterLab refuses line ends in what it takes for its own: there Enter changes nothing.
      onkeydown: ({ key, isComposing }) => { if (key === "Enter" && !isComposing) this.goTo(this.jump.value); } });
    this.slider = h("input", { type: "range", min: 0, max: this.total, step: 1, value: 0, "aria-label": "step", oninput: () => this.seek(Number(this.slider.value)) });
    this.count = h("output", { class: "count" });
    const ticks = s("svg", { class: "ticks", viewBox: "0 0 1000 6", preserveAspectRatio: "none", "aria-hidden": "true" },
      ...[...new Set(this.matches.map((p) => Math.round((1000 * p) / Math.max(1, this.total))))].map((x) => s("path", { d: `M${x},0 L${x},6` })));
    return h("div", { class: "transport", role: "toolbar", "aria-label": "transport" },
      h("span", { class: "buttons" },
        button("first", "First", () => this.seek(0)), button("back", "Back", () => this.seek(this.position - 1)), this.playButton,
        button("next", "Step", () => this.seek(this.position + 1)), button("last", "Last", () => this.seek(this.total)),
        button("matchBack", "Previous match", () => this.toMatch(-1)), button("matchNext", "Next match", () => this.toMatch(1)),
        this.speed, this.stopAt, this.jump, h("button", { type: "button", "aria-label": "Keys", title: "Keys", "data-action": "help", "aria-expanded": "false", onclick: () => this.toggleHelp() }, "?")),
      h("span", { class: "scrub" }, this.slider, ticks), this.count);
  }

  help() {
    this.keys = h("div", { class: "keys", hidden: true }, h("dl", {}, ...[...KEYS, ...(this.quiz ? QUIZ_KEYS : [])].map(([key, text]) => h("div", {}, h("dt", {}, key), h("dd", {}, text)))),
      h("p", {}, `Ticks below the slider are matches. Click ${this.kind.help}, an event or a chart to go there.`));
    return this.keys;
  }

  toggleHelp(open = this.keys.hidden) {
    this.keys.hidden = !open;
    this.frame.querySelector('[data-action="help"]').setAttribute("aria-expanded", String(open));
  }

  key(pressed) {
    if (pressed.ctrlKey || pressed.metaKey || pressed.altKey) return;
    const on = pressed.composedPath()[0];
    const inside = pressed.composedPath().includes(this.frame);
    if (on instanceof HTMLSelectElement || on === this.jump) return;
    // A button that has the focus keeps the space bar, a region that scrolls its keys.
    if (pressed.key === " " && on instanceof HTMLButtonElement && inside) return;
    if (on instanceof HTMLElement && on.matches(".body, .scroll, .diagram") && /^(Page|Home|End| )/.test(pressed.key)) return;
    const actions = {
      ArrowLeft: () => this.seek(this.position - 1), ArrowRight: () => this.seek(this.position + 1),
      PageUp: () => this.seek(this.position - 10), PageDown: () => this.seek(this.position + 10),
      Home: () => this.seek(0), End: () => this.seek(this.total), " ": () => this.toggle(),
      b: () => this.toStop(), g: () => this.jump.focus(),
      n: () => this.toMatch(1), p: () => this.toMatch(-1),
      z: () => this.zoom(1), x: () => this.zoom(-1), f: () => this.zoom(0),
      ...this.quiz?.keys(on),
      "+": () => this.faster(1), "=": () => this.faster(1), "-": () => this.faster(-1), "?": () => this.toggleHelp(), Escape: () => this.forget(),
    };
    const action = actions[pressed.key.length === 1 ? pressed.key.toLowerCase() : pressed.key];
    if (!action) return;
    pressed.preventDefault();
    pressed.stopPropagation();
    action();
  }

  forget() {
    this.toggleHelp(false);
    this.cards.forEach((card) => { card.chosen = null; });
    this.show();
    this.say({ chosen: null });
  }

  /** What was chosen already is let go. */
  choose(card, id) {
    if (this.quiz?.pick(card, id)) return;
    card.chosen = card.chosen === id ? null : id;
    this.show();
    this.say({ chosen: card.chosen === null ? null : card.track.named(card.chosen) });
  }

  /** Tell those of the same link; what one does that follows is no news. */
  say(news) {
    if (this.link === null || this.following) return;
    document.dispatchEvent(new CustomEvent(LINKED, { detail: { link: this.link, from: this, ...news } }));
  }

  /** Do what another of the same link does: one plays, the others are led. */
  followed({ step, playing, chosen }) {
    if (step !== undefined) this.seek(step);
    if (playing !== undefined) {
      this.halt();
      this.led = playing;
      this.playing(playing);
    }
    if (chosen !== undefined) {
      for (const card of this.cards) card.chosen = chosen === null ? null : card.track.called(chosen, this.position);
      this.show();
    }
  }

  zoom(by) {
    this.cards.forEach((card) => card.diagram?.scale(by));
  }

  faster(by) {
    this.speed.selectedIndex = Math.max(0, Math.min(SPEEDS.length - 1, this.speed.selectedIndex + by));
  }

  toMatch(direction) {
    const { matches, position } = this;
    const to = direction > 0 ? matches.find((p) => p > position) : matches.findLast((p) => p < position);
    if (to !== undefined) this.seek(to);
  }

  /** The next position that playing stops at, the end where there is none. */
  toStop() {
    const holds = this.stops.get(this.stopAt.value);
    let to = this.position + 1;
    while (holds && to < this.total && !holds(to)) to += 1;
    if (holds) this.seek(to);
  }

  /** Go to a step by its number, or to the next step of an event by its name. */
  goTo(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return;
    const at = /^\d+$/.test(wanted) ? Number(wanted) + 1 : this.ofEvent(wanted);
    this.jump.setAttribute("aria-invalid", String(at === 0 || at > this.total));
    if (at > 0 && at <= this.total) this.seek(at);
  }

  /** The first position after this one, or else of all, whose event is called so; 0: there is none. */
  ofEvent(name) {
    const { tape } = this;
    const called = tape.moments.flatMap(({ event }, i) => (event !== null && tape.name[event].toLowerCase() === name ? [i + 1] : []));
    return called.find((p) => p > this.position) ?? called[0] ?? 0;
  }

  toggle() {
    if (this.moving) return this.pause();
    if (this.position >= this.total) this.seek(0);
    const tick = () => {
      this.seek(this.position + 1, false, true);
      if (this.position >= this.end || this.stops.get(this.stopAt.value)?.(this.position)) this.pause();
      else this.timer = setTimeout(tick, 1000 / Number(this.speed.value));
    };
    this.timer = setTimeout(tick, 0);
    this.playing(true);
    this.say({ playing: true });
  }

  /** Whether it plays, itself or led by another. */
  get moving() {
    return this.timer !== null || this.led;
  }

  /** How far it goes: up to a question that has no answer yet. */
  get end() {
    return Math.min(this.total, this.quiz?.end ?? this.total);
  }

  halt() {
    clearTimeout(this.timer);
    Object.assign(this, { timer: null, led: false });
  }

  pause() {
    if (!this.moving) return;
    this.halt();
    this.playing(false);
    this.say({ playing: false });
  }

  playing(on) {
    const text = on ? "Pause" : "Play";
    this.playButton.replaceChildren(icon(on ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", text);
    this.playButton.title = text;
    // Sixteen sentences a second are no help to anybody who listens.
    this.sentence.setAttribute("aria-live", on ? "off" : "polite");
  }

  /** Go to a position; whoever asked for it from outside is not told of it again. */
  seek(to, quiet = false, playing = false) {
    if (!playing && !this.following) this.pause();
    const position = Math.max(0, Math.min(this.end, Math.round(Number(to)) || 0));
    const moved = position !== this.position;
    this.position = position;
    this.show();
    if (moved && !quiet && this.listener) this.listener(position);
    // Those that follow say nothing: a shorter trace would call the others back to its end.
    if (moved) this.say({ step: position });
  }

  show() {
    const root = this.host.shadowRoot;
    const focused = root.activeElement;
    this.draw();
    // What had the focus may have been drawn anew: the keys stay the player's.
    if (focused && !root.activeElement) this.frame.focus({ preventScroll: true });
  }

  draw() {
    const { position: p, total } = this;
    const badges = new Map(this.cards.flatMap((card) => [...card.badges(p)]));
    this.pattern.show(this.tracks, p);
    this.strip.show(p, badges);
    this.slider.value = p;
    // As the sentence and `trace[n]` number them: from 0; before the first there is none.
    const step = p ? (p - 1).toLocaleString("en") : "–";
    const last = Math.max(0, total - 1).toLocaleString("en");
    this.slider.setAttribute("aria-valuetext", p ? `step ${step} of 0 to ${last}` : "before the first step");
    this.count.value = `${step} / ${last}`;
    this.sentence.textContent = visible(toldAll(this.tape, this.tracks, p, total));
    this.quiz?.show(p);
    this.cards.forEach((card) => card.show(p, this.seek));
    this.charts.forEach((chart) => chart.show(p));
    this.host.dataset.step = p;
  }

  /** Widths have changed, or are known for the first time. */
  fit() {
    const width = this.frame.clientWidth;
    if (!width) return;
    this.strip.room = Math.max(5, Math.min(25, Math.floor((width - 30) / this.strip.pitch)));
    this.cards.forEach((card) => card.fit());
    this.show();
  }
}

/** What playing can stop at: by its text, whether a position is such a one. */
function stopsOf(tracks, matches) {
  const at = new Set(matches);
  const stops = new Map([["stop at the end", null], ["a match", (p) => at.has(p)]]);
  for (const track of tracks) {
    for (const [text, holds] of track.stops()) {
      stops.set(tracks.length > 1 ? `${track.trace.name}: ${text}` : text, holds);
    }
  }
  return stops;
}

/** Light or dark as the page is, not as the system: notebooks have themes of their own. */
function watchTheme(host, wanted) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const body = document.body;
  const read = () => {
    const { jpThemeLight, vscodeThemeKind, theme } = body.dataset;
    const dark = wanted !== "auto" ? wanted === "dark"
      : jpThemeLight ? jpThemeLight === "false"
        : vscodeThemeKind ? vscodeThemeKind.includes("dark")
          : theme === "light" || theme === "dark" ? theme === "dark"
            : system.matches;
    host.dataset.theme = dark ? "dark" : "light";
  };
  read();
  const observer = new MutationObserver(read);
  observer.observe(body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-vscode-theme-kind", "data-theme"] });
  system.addEventListener("change", read);
  return () => {
    observer.disconnect();
    system.removeEventListener("change", read);
  };
}

// ---------------------------------------------------------------- ways in

/**
 * Show a player in `root`.
 *
 * options: step (where to begin), onstep (called with each new position), theme ("auto", "light",
 * "dark"), page (whether the whole page's keys are the player's), link (players of one link go
 * together).
 * Returns { seek(position), position(), destroy() }.
 */
export function mount(root, doc, options = {}) {
  const player = new Player(root, doc, options);
  return {
    seek: (position) => player.seek(position, true),
    position: () => player.position,
    destroy: () => player.stop(),
  };
}

/** Whose step is being told to Python: a link's or a view's. Models answer at once, as if asked to go there. */
let telling = null;

/** As a notebook's widget: `step` goes both ways, at most some eight times a second outwards. */
function render({ model, el }) {
  const own = model.get("link") || {};
  let [waiting, sent] = [null, null];
  const send = (position) => {
    sent = position;
    if (waiting !== null) return;
    waiting = setTimeout(() => {
      waiting = null;
      telling = own;
      model.set("step", sent);
      telling = null;
      model.save_changes();
    }, 120);
  };
  let player = null;
  const show = () => {
    player?.destroy();
    player = mount(el, JSON.parse(model.get("document")), { step: model.get("step"), onstep: send, link: model.get("link") || null });
  };
  const follow = () => {
    if (telling === own) return;
    clearTimeout(waiting);
    waiting = null;
    player.seek(model.get("step"));
  };
  show();
  model.on("change:document", show);
  model.on("change:step", follow);
  return () => {
    clearTimeout(waiting);
    model.off("change:document", show);
    model.off("change:step", follow);
    player.destroy();
  };
}

export default { render, mount };
