// The player: it shows what mechanisms and counters did with a stream, event by event.
//
// These files, joined in the order that page.py names, are one module without imports: SVG and
// HTML in a shadow root, so that the page around it neither leaks in nor is changed. Python
// computes everything once; what comes here is the document `cepkit.player/1` (docs/player.md),
// and all that is done with it is to show it. A position p means "after p steps": 0 is before the
// first event. An instance is an interval of positions, as are an event in a buffer and a row of
// counters, so that what is alive at any position is one pass over arrays of integers: there is no
// state to replay, and going back costs what going on costs.
//
// Texts of the document only ever become text nodes and attributes, never markup.

const HUES = ["#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#D55E00", "#0072B2"];
const GREY = "#999999";
const FAMILY = `system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`;
const LINES = [
  { dash: "", mark: "solid" },
  { dash: "7 4", mark: "dashed" },
  { dash: "2 3", mark: "dotted" },
  { dash: "9 3 2 3", mark: "dash-dotted" },
];
const SPEEDS = [1, 2, 4, 8, 16, 30];

const MOST_ROWS = 40;
const MOST_TOLD = 3;
const MOST_POINTS = 1000;
const NEVER = 0x7fffffff;
const KEYS = [
  ["← →", "one event back or on"],
  ["Page Up, Page Down", "ten events back or on"],
  ["Home, End", "the beginning, the end"],
  ["Space", "play or pause"],
  ["P, N", "previous or next match"],
  ["B", "the next step to stop at"],
  ["G", "go to a step or an event"],
  ["−, +", "slower or faster"],
  ["Z, X, F", "diagrams larger, smaller, whole"],
  ["Esc", "close this, forget what was chosen"],
  ["?", "these keys"],
];
const ICONS = {
  first: "M5 4h2v12H5zM15 4v12l-7-6z",
  back: "M13 4v12l-8-6z",
  play: "M6 4l10 6-10 6z",
  pause: "M5 4h4v12H5zM11 4h4v12h-4z",
  next: "M7 4l8 6-8 6z",
  last: "M5 4l7 6-7 6zM13 4h2v12h-2z",
  matchBack: "M9 4v12l-7-6zM15 5.5l1.3 3 3.2.3-2.4 2.1.7 3.2-2.8-1.7-2.8 1.7.7-3.2-2.4-2.1 3.2-.3z",
  smaller: "M4 9h12v2H4z",
  larger: "M4 9h5V4h2v5h5v2h-5v5H9v-5H4z",
  whole: "M3 3h5v2H5v3H3zM12 3h5v5h-2V5h-3zM3 12h2v3h3v2H3zM15 12h2v5h-5v-2h3z",
  matchNext: "M11 4l7 6-7 6zM5 5.5l1.3 3 3.2.3-2.4 2.1.7 3.2L5 12.4l-2.8 1.7.7-3.2L.5 8.8l3.2-.3z",
};

// ---------------------------------------------------------------- elements

/** A text with a space for each character that cannot be seen or changes direction. */
const visible = (text) => text.replace(/[\p{Cf}\p{Zl}\p{Zp}]|(?!\n)\p{Cc}/gu, " ");
const asText = (part) => (typeof part === "string" ? visible(part) : part);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : asText(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined).map(asText));
  return element;
}

const h = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function icon(name) {
  return s("svg", { viewBox: "0 0 20 20", width: 18, height: 18, "aria-hidden": "true" },
    s("path", { d: ICONS[name], fill: "currentColor" }));
}

/** The line that stands for a trace in charts. */
function lineSample(number) {
  const line = LINES[number % LINES.length];
  return s("svg", { class: `sample line${number % LINES.length}`, viewBox: "0 0 28 10", width: 28, height: 10, "aria-hidden": "true" },
    s("path", { d: "M1,5 L27,5", "stroke-dasharray": line.dash }));
}

/** A way to the end of a step: they are numbered from 0, step n leads from position n to n + 1. */
function stepLink(position, seek) {
  return h("button", { type: "button", class: "link", onclick: () => seek(position) }, `step ${position - 1}`);
}

/** The heading of what is told about something chosen, which is an interval of positions. */
function chosenHead(title, { born }, p, close) {
  return h("h4", {}, `${title}${born > p ? ", not yet there" : ""}`, h("button", { type: "button", class: "link close", onclick: close }, "close"));
}

const counted = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
/** A count of any size, as the document has it: a number or, where that is not exact, a text. */
function big(value) {
  const exact = BigInt(value);
  const digits = String(exact);
  return digits.length <= 15 ? exact.toLocaleString("en") : `${digits[0]}.${digits.slice(1, 3)}e+${digits.length - 1}`;
}
const cut = (text, length) => (text.length <= length ? text : `${text.slice(0, Math.max(1, length - 1))}…`);

// ---------------------------------------------------------------- the stream

/**
 * Events with their names, colours and times as they are shown, and the moments that are stepped
 * through: the arrivals of the events or, where the document says so, what happens one by one.
 */
class Tape {
  constructor(doc) {
    const { id, name, time, type, attributes } = doc.events;
    this.size = id.length;
    Object.assign(this, { id, name, time, type, attributes: attributes ?? {} });
    this.colours = new Map(doc.types.map((kind, i) => [kind, HUES[i % HUES.length]]));
    this.clock = clockOf(time);
    this.moments = doc.moments
      ? doc.moments.time.map((_, i) => Object.fromEntries(Object.entries(doc.moments).map(([key, column]) => [key, column[i]])))
      : id.map((_, event) => ({ event, time: time[event], name: name[event] }));
    this.turns = new Map();
    this.moments.forEach((moment) => {
      moment.turn = (this.turns.get(moment.event) ?? 0) + 1;
      this.turns.set(moment.event, moment.turn);
    });
  }

  colour(event) {
    return this.colours.get(this.type[event]) ?? GREY;
  }

  values(event) {
    return Object.entries(this.attributes).map(([name, column]) => [name, column[event]]);
  }

  /** "A 2 (price 5)", with every attribute, and with the type where the name is another. */
  told(event) {
    const values = this.values(event).map(([name, value]) => `${name} ${valueText(value)}`);
    if (!this.name[event].startsWith(this.type[event])) values.unshift(this.type[event]);
    return this.name[event] + (values.length ? ` (${values.join(", ")})` : "");
  }
}

/** When something ceases: a microsecond after a window's edge is right after it. */
function edgeText(clock, time) {
  return (time - 1) % 1000 === 0 ? `right after ${clock(time - 1)}` : `at ${clock(time)}`;
}

/** What comes about at a moment: an arrival, or an expiry. */
function momentText(tape, moment) {
  if (moment.event === null) return `${moment.name} ${moment.name.includes(",") ? "expire" : "expires"} ${edgeText(tape.clock, moment.time)}`;
  const turns = tape.turns.get(moment.event);
  return `${tape.told(moment.event)} arrives at ${tape.clock(moment.time)}${turns > 1 ? `, operation ${moment.turn} of ${turns}` : ""}`;
}

function valueText(value) {
  if (value === null || value === undefined) return "null";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  return Array.isArray(value) ? `[${value.length}]` : String(value);
}

/** How microseconds are written: a time of day where they are of our age, else plain seconds. */
function clockOf(times) {
  const first = times[0] ?? 0;
  if (Math.abs(first) < 3e14) return (time) => `${Number((time / 1e6).toPrecision(9))} s`;
  const fine = times.some((time) => time % 1e6);
  return (time) => new Date(time / 1e3).toISOString().slice(11, fine ? 23 : 19);
}

// ---------------------------------------------------------------- the traces

/** What traces of all kinds are read by: operations and counters at a position. */
class Recording {
  constructor(trace, number, tape) {
    Object.assign(this, { trace, number, tape });
  }

  /** What happened in the step that leads to a position. */
  ops(p) {
    return p > 0 ? this.trace.steps[p - 1] ?? [] : [];
  }

  /** The number of what is called so in another trace, rather one that is alive; null: there is none. */
  called(name, p) {
    const all = this.chosable().filter(({ id }) => this.named(id) === name);
    return (all.find(({ born, died }) => born <= p && died > p) ?? all[0])?.id ?? null;
  }

  /** The matches that come about in the step that leads to a position. */
  matchTexts() {
    return [];
  }

  /** What playing can stop at: [text, whether a position is such a one], beside matches. */
  stops() {
    return [];
  }

  /** A counter at a position; a trace that ends before it stays as it was. */
  counter(name, p) {
    return p > 0 ? this.trace.counters[name]?.[Math.min(p, this.trace.steps.length) - 1] ?? 0 : 0;
  }
}
