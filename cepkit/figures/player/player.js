// The player: it shows what evaluation mechanisms did with a stream, event by event.
//
// One file without imports: SVG and HTML in a shadow root, so that the page around it neither
// leaks in nor is changed. Python computes everything once; what comes here is the document
// `cepkit.player/1` (docs/player.md), and all that is done with it is to show it. A position p
// means "after p steps": 0 is before the first event. An instance is an interval of positions,
// as is an event in a buffer, so that what is alive at any position is one pass over two arrays
// of integers: there is no state to replay, and going back costs what going on costs.
//
// Texts of the document only ever become text nodes and attributes, never markup.

const HUES = ["#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#D55E00", "#0072B2"];
const GREY = "#999999";
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
const COUNTERS = [["instances", "instances alive"], ["stored", "events stored"], ["evaluations", "evaluations"], ["matches", "matches"]];
const KEYS = [
  ["← →", "one event back or on"],
  ["Page Up, Page Down", "ten events back or on"],
  ["Home, End", "the beginning, the end"],
  ["Space", "play or pause"],
  ["P, N", "previous or next match"],
  ["−, +", "slower or faster"],
  ["Esc", "close this, forget the chosen instance"],
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
  matchNext: "M11 4l7 6-7 6zM5 5.5l1.3 3 3.2.3-2.4 2.1.7 3.2L5 12.4l-2.8 1.7.7-3.2L.5 8.8l3.2-.3z",
};

// ---------------------------------------------------------------- elements

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
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

const counted = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
const cut = (text, length) => (text.length <= length ? text : `${text.slice(0, Math.max(1, length - 1))}…`);

// ---------------------------------------------------------------- the stream

/** Events with their names (the type and the arrival number), colours and times as they are shown. */
class Tape {
  constructor(doc) {
    const { id, name, time, type, attributes } = doc.events;
    this.size = id.length;
    Object.assign(this, { id, name, time, type, attributes: attributes ?? {} });
    this.colours = new Map(doc.types.map((kind, i) => [kind, HUES[i % HUES.length]]));
    this.clock = clockOf(time);
  }

  colour(event) {
    return this.colours.get(this.type[event]) ?? GREY;
  }

  values(event) {
    return Object.entries(this.attributes).map(([name, column]) => [name, column[event]]);
  }

  /** "A 2 (price 5)", with every attribute. */
  told(event) {
    const values = this.values(event).map(([name, value]) => `${name} ${valueText(value)}`);
    return this.name[event] + (values.length ? ` (${values.join(", ")})` : "");
  }
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

// ---------------------------------------------------------------- one trace

/** A trace, indexed: what lives when, what happens in which step. */
class Track {
  constructor(trace, number, tape, reasons) {
    Object.assign(this, { trace, number, tape, reasons });
    this.nodes = trace.diagram.nodes;
    this.edges = trace.diagram.edges;
    this.nodeAt = new Map(this.nodes.map((node, i) => [node.id, i]));
    this.edgeAt = new Map(this.edges.map((edge, i) => [edge.id, i]));
    this.instances = [];
    this.index = new Map();
    this.stored = [];
    this.visited = this.nodes.map((node) => (trace.diagram.kind === "tree-nfa" && node.kind !== "start" ? NEVER : 0));
    this.read(trace.steps);
    this.born = Int32Array.from(this.instances, (one) => one.born);
    this.died = Int32Array.from(this.instances, (one) => one.died);
    this.matchPositions = [...new Set(trace.matches.map((match) => match.step + 1))].sort((a, b) => a - b);
    this.matchesAt = new Map();
    for (const match of trace.matches) {
      const at = match.step + 1;
      if (!this.matchesAt.has(at)) this.matchesAt.set(at, []);
      this.matchesAt.get(at).push(match);
    }
  }

  read(steps) {
    const open = new Map();
    for (let step = 0; step < steps.length; step++) {
      for (const op of steps[step]) {
        if (op[0] === "create") {
          // What an automaton begins with is there before the first event.
          const born = step === 0 && isInitial(op) ? 0 : step + 1;
          const node = this.nodeAt.get(op[3]);
          this.visited[node] = Math.min(this.visited[node], born);
          this.add({ id: op[1], parents: op[2], node: op[3], variable: op[4], event: op[5], born });
        } else if (op[0] === "evaluate") {
          this.known(op[1]);
        } else if (op[0] === "discard") {
          Object.assign(this.known(op[1]), { died: step + 1, reason: op[2], by: op[3] });
        } else if (op[0] === "store") {
          const entry = { event: op[1], variable: op[2], born: step + 1, died: NEVER };
          open.set(`${op[1]} ${op[2]}`, entry);
          this.stored.push(entry);
        } else if (op[0] === "forget") {
          const entry = open.get(`${op[1]} ${op[2]}`);
          if (entry) entry.died = step + 1;
        } else if (op[0] === "visit") {
          const node = this.nodeAt.get(op[1]);
          this.visited[node] = Math.min(this.visited[node], step + 1);
        }
      }
    }
  }

  add(instance) {
    const whole = { died: NEVER, reason: null, ...instance, parents: instance.parents ?? [] };
    this.index.set(whole.id, whole);
    this.instances.push(whole);
    return whole;
  }

  /** The instance with this number; one that no step creates was there from the beginning. */
  known(id) {
    const start = this.nodes.find((node) => node.kind === "start") ?? this.nodes[0];
    return this.index.get(id) ?? this.add({ id, node: start?.id, variable: null, event: null, born: 0 });
  }

  ops(p) {
    return p > 0 ? this.trace.steps[p - 1] ?? [] : [];
  }

  counter(name, p) {
    if (p === 0 && name === "instances") return this.instances.filter((one) => one.born === 0).length;
    return p > 0 ? this.trace.counters[name]?.[Math.min(p, this.trace.steps.length) - 1] ?? 0 : 0;
  }

  /** Instances alive at a position, by node, oldest first. */
  alive(p) {
    const by = this.nodes.map(() => []);
    const { born, died } = this;
    for (let i = 0; i < born.length; i++) {
      if (born[i] <= p && died[i] > p) by[this.nodeAt.get(this.instances[i].node)]?.push(this.instances[i]);
    }
    return by;
  }

  buffer(p) {
    const by = new Map();
    for (const entry of this.stored) {
      if (entry.born > p || entry.died < p) continue;
      if (entry.died === p && entry.died === entry.born) continue;
      if (!by.has(entry.variable)) by.set(entry.variable, []);
      by.get(entry.variable).push(entry);
    }
    return by;
  }

  /** The instances from which one came, itself last; of a join both sides, older ones first. */
  lineage(id) {
    const found = new Map();
    const visit = (one) => {
      if (!one || found.has(one.id)) return;
      one.parents.forEach((parent) => visit(this.index.get(parent)));
      found.set(one.id, one);
    };
    visit(this.index.get(id));
    return [...found.values()];
  }

  /** The events of an instance, as [variable, events] in the order in which they were taken. */
  binding(id) {
    const by = new Map();
    for (const one of this.lineage(id)) {
      if (one.variable === null || one.event === null) continue;
      if (!by.has(one.variable)) by.set(one.variable, []);
      by.get(one.variable).push(one.event);
    }
    // What was taken first stands first; a join takes nothing, there time decides.
    const found = [...by];
    if (this.trace.diagram.kind === "evaluation-tree") found.sort((a, b) => a[1][0] - b[1][0]);
    return found;
  }

  bindingText(id) {
    const parts = this.binding(id).map(([, events]) => {
      const names = events.map((event) => this.tape.name[event]);
      return setText(names);
    });
    return parts.join(" → ") || "start";
  }

  matchText(match) {
    const groups = Object.values(match.events).map((of) => [of].flat());
    groups.sort((a, b) => Math.min(...a) - Math.min(...b));
    return groups
      .map((events) => events.map((event) => this.tape.name[event]))
      .map(setText)
      .join(" → ");
  }

  nodeLabel(id) {
    return this.nodes[this.nodeAt.get(id)]?.label ?? "";
  }

  reason(word) {
    return this.reasons[word] ?? word;
  }
}

const setText = (names) => (names.length > 1 ? `{${names.join(", ")}}` : names[0]);

/** Whether an operation creates an instance that binds nothing. */
const isInitial = (op) => op[2].length === 0 && op[5] === null;

// ---------------------------------------------------------------- words

/** What happened to one trace in the step that leads to position p. */
function toldOf(track, p) {
  const stored = new Set();
  const forgotten = new Set();
  const refused = new Set();
  const ended = new Map();
  let [evaluated, held, created] = [0, 0, 0];
  for (const op of track.ops(p)) {
    if (op[0] === "evaluate") {
      evaluated += 1;
      held += op[5] ? 1 : 0;
    } else if (op[0] === "create") created += isInitial(op) ? 0 : 1;
    else if (op[0] === "store") stored.add(op[2]);
    else if (op[0] === "refuse") refused.add(op[2]);
    else if (op[0] === "forget") forgotten.add(op[1]);
    else if (op[0] === "discard" && op[2] !== "matched") ended.set(op[2], (ended.get(op[2]) ?? 0) + 1);
  }
  const parts = [];
  if (refused.size) parts.push(`its own conditions refuse it for ${[...refused].join(" and ")}`);
  if (stored.size) parts.push(`stored for ${[...stored].join(" and ")}`);
  if (evaluated) parts.push(`${counted(evaluated, "evaluation")}, ${held.toLocaleString("en")} held`);
  if (created) parts.push(`${counted(created, "instance")} created`);
  for (const [reason, n] of ended) parts.push(`${counted(n, "instance")} ended (${track.reason(reason)})`);
  if (forgotten.size) parts.push(`${counted(forgotten.size, "event")} left the buffer`);
  return parts;
}

function toldMatches(matches) {
  const parts = matches.slice(0, MOST_TOLD).map((text) => `MATCH ${text}`);
  if (matches.length > MOST_TOLD) parts.push(`and ${counted(matches.length - MOST_TOLD, "more match", "more matches")}`);
  return parts;
}

function toldAll(tape, tracks, p, total) {
  if (total === 0) return "The stream is empty: there is nothing to play.";
  if (p === 0) return "Before the first event. Step on with →, play with the space bar.";
  const what = p > tape.size ? "the stream ends" : `${tape.told(p - 1)} arrives at ${tape.clock(tape.time[p - 1])}`;
  const whole = `Step ${p - 1}: ${what}`;
  // What is the same for all traces is said once.
  const matches = tracks.map((track) => (track.matchesAt.get(p) ?? []).map((match) => track.matchText(match)));
  const common = new Set(matches.map((texts) => [...texts].sort().join("\n"))).size === 1 ? toldMatches(matches[0]) : [];
  const bare = tracks.map((track, i) => {
    const parts = [...toldOf(track, p), ...(common.length ? [] : toldMatches(matches[i]))];
    return parts.join("; ") || (common.length ? "" : "nothing to do");
  });
  const end = common.length ? `${common.join("; ")}.` : "";
  if (new Set(bare).size === 1) return [`${whole}; ${tracks.length > 1 ? "for all, " : ""}${bare[0]}.`, end].join(" ").trim();
  return [`${whole}.`, ...tracks.map((track, i) => `${track.trace.name}: ${bare[i]}.`), end].join(" ").trim();
}

// ---------------------------------------------------------------- pattern text

/** The variable of an event as patterns write it: "B b", "KL(B b){1,3}", "NOT(B \"b c\")". */
function variableOf(text) {
  const last = (text.match(/"(?:[^"]|"")*"|[\p{L}_][\p{L}\p{N}_]*/gu) ?? []).at(-1) ?? "";
  return last.startsWith('"') ? last.slice(1, -1).replaceAll('""', '"') : last;
}

/** The query's text; the clauses that a step touches are marked. */
class PatternView {
  constructor(doc) {
    this.clauses = doc.clauses ?? [];
    const borders = new Set([0, doc.pattern.length]);
    this.clauses.forEach(({ begin, end }) => borders.add(begin).add(end));
    const places = [...borders].sort((a, b) => a - b);
    this.parts = [];
    this.element = h("pre", { class: "pattern" });
    places.slice(0, -1).forEach((begin, i) => {
      const part = h("span", {}, doc.pattern.slice(begin, places[i + 1]));
      const of = this.clauses.flatMap((clause, n) => (clause.begin <= begin && clause.end >= places[i + 1] ? [n] : []));
      this.parts.push({ part, of });
      this.element.append(part);
    });
    this.byVariable = new Map();
    this.clauses.forEach(({ kind, text }, n) => {
      if (kind !== "event" && kind !== "absence") return;
      this.byVariable.set(variableOf(text), n);
    });
  }

  show(tracks, p) {
    const state = new Map();
    const mark = (clause, word) => {
      if (clause === undefined || clause === null || state.get(clause) === "held") return;
      state.set(clause, word);
    };
    for (const track of tracks) {
      for (const op of track.ops(p)) {
        const checked = op[0] === "evaluate" ? op[4] : op[0] === "refuse" ? op[3] : op[0] === "close" ? op[2] : [];
        for (const [clause, , outcome] of checked) mark(clause, outcome ? "held" : "failed");
        if (op[0] === "evaluate" || op[0] === "close") continue;
        if (op[0] === "create") mark(this.byVariable.get(op[4]), "held");
        else if (op[0] === "store") mark(this.byVariable.get(op[2]), "held");
        else if (op[0] === "discard" && (op[2] === "expired" || op[2] === "absence")) {
          const kind = op[2] === "expired" ? "window" : "absence";
          this.clauses.forEach((clause, n) => clause.kind === kind && mark(n, "failed"));
        }
      }
    }
    for (const { part, of } of this.parts) {
      const words = of.map((clause) => state.get(clause)).filter(Boolean);
      const word = words.includes("held") ? "held" : words[0] ?? "";
      part.className = word;
      part.title = word && (word === "held" ? "held in this step" : "did not hold in this step");
    }
  }
}

// ---------------------------------------------------------------- event tape

class TapeView {
  constructor(tape, seek) {
    Object.assign(this, { tape, seek, room: 21 });
    this.element = h("div", { class: "tape", role: "group", "aria-label": "events" });
  }

  show(p, badges) {
    const { tape } = this;
    const current = p - 1;
    const most = Math.min(this.room, tape.size);
    const begin = Math.max(0, Math.min(tape.size - most, current - Math.floor(most * 0.6)));
    const cells = [];
    for (let event = begin; event < begin + most; event++) cells.push(this.cell(event, current, badges));
    if (begin + most < tape.size) cells.push(h("span", { class: "more", "aria-hidden": "true" }, "…"));
    if (begin > 0) cells.unshift(h("span", { class: "more", "aria-hidden": "true" }, "…"));
    this.element.replaceChildren(...cells);
  }

  cell(event, current, badges) {
    const { tape } = this;
    const [first] = tape.values(event);
    const when = event < current ? "past" : event > current ? "future" : "now";
    const colour = tape.colour(event);
    return h("button", {
      class: `event ${when}`, type: "button", tabindex: -1, "data-event": event,
      style: `--hue:${colour};--on:${colour === "#0072B2" ? "#fff" : "#111"}`,
      "aria-current": when === "now" ? "step" : null,
      "aria-label": `${tape.told(event)} at ${tape.clock(tape.time[event])}`,
      title: `${tape.told(event)} at ${tape.clock(tape.time[event])}`,
      onclick: () => this.seek(event + 1),
    },
    h("span", { class: "box" }, h("b", {}, cut(tape.name[event].length > 7 ? tape.type[event] : tape.name[event], 7)), h("i", {}, first ? cut(valueText(first[1]), 6) : "")),
    // Fractions of a second have no room here; the tooltip and the sentence have them.
    h("span", { class: "time" }, tape.clock(tape.time[event]).replace(/^(\d\d:\d\d:\d\d)\.\d+$/, "$1")),
    h("span", { class: "badge" }, badges.get(event) ?? ""));
  }
}

// ---------------------------------------------------------------- diagram

const RADIUS = 18;
const DOT = 4.6;
const PITCH = 11.5;
const LOOP = 34;
const MOST_LINES = 5;
const MOST_STATES = 24;

/**
 * What of a diagram is drawn: everything, or of a tree NFA with very many states those that the
 * trace visits, moved together. States are named by what they took, so that each has one parent.
 */
function drawn(track) {
  const { nodes, edges } = track;
  if (track.trace.diagram.kind !== "tree-nfa" || nodes.length <= MOST_STATES) return { nodes, edges };
  const kept = nodes.filter((node, i) => track.visited[i] < NEVER || node.kind === "final");
  const key = (node, length) => JSON.stringify([node.branch, node.variables.slice(0, length)]);
  const inner = kept.filter((node) => node.kind !== "final");
  const children = new Map(inner.map((node) => [key(node), []]));
  for (const node of inner) if (node.variables.length) children.get(key(node, node.variables.length - 1))?.push(node);
  let row = 0;
  const y = new Map();
  const place = (node) => {
    const below = children.get(key(node));
    below.forEach(place);
    y.set(node.id, below.length ? (y.get(below[0].id) + y.get(below.at(-1).id)) / 2 : row++);
  };
  for (const start of inner.filter((node) => node.kind === "start")) {
    const first = row;
    place(start);
    const final = kept.find((node) => node.kind === "final" && node.branch === start.branch);
    if (final) y.set(final.id, (first + row - 1) / 2);
    row += 1;
  }
  const placed = kept.filter((node) => y.has(node.id)).map((node) => ({ ...node, y: y.get(node.id) }));
  return { nodes: placed, edges: edges.filter((edge) => y.has(edge.from) && y.has(edge.to)) };
}

/** The states or nodes of one trace, with a token for each instance. */
class Diagram {
  constructor(track, choose) {
    Object.assign(this, { track, choose, width: 0 });
    this.element = h("div", { class: "diagram" });
    this.chain = track.trace.diagram.kind === "chain";
    // In a tree edges come up from below, so that tokens stand above their node.
    this.side = track.trace.diagram.kind === "evaluation-tree" ? -1 : 1;
    // A tree NFA has many states and needs few words: what a state stores is what it has not taken.
    this.dense = track.trace.diagram.kind === "tree-nfa";
    this.radius = this.dense ? 15 : RADIUS;
    this.rows = this.dense ? 1 : 2;
    const { nodes, edges } = drawn(track);
    this.nodes = nodes;
    this.edges = this.dense ? edges.filter((edge) => edge.from !== edge.to || edge.kind === "take") : edges;
  }

  /** Lay it out for a width in pixels; nothing is done when that changes nothing. */
  fit(width) {
    const { nodes, edges } = this;
    const across = nodes.map((node) => node.x);
    const down = nodes.map((node) => node.y);
    const [left, right] = [Math.min(0, ...across), Math.max(0, ...across)];
    const [top, bottom] = [Math.min(0, ...down), Math.max(0, ...down)];
    const step = nearest(nodes, this.dense);
    const widest = Math.max(...nodes.map((node) => this.half(node)), 36);
    const margin = Math.max(42, widest + 6);
    const least = 76 / step.x;
    const most = (this.chain ? 210 : 130) / step.x;
    const dx = Math.max(least, Math.min(most, (width - 2 * margin - (this.dense ? 48 : 0)) / Math.max(1e-9, right - left)));
    if (this.dx === dx) return;
    this.dx = dx;
    const loops = edges.some((edge) => edge.from === edge.to);
    const tokens = this.radius + this.rows * PITCH + (this.dense ? 8 : 24);
    const looped = this.radius + (loops ? LOOP + 32 : 8);
    const above = this.side < 0 ? tokens : this.chain ? Math.max(84, looped) : looped;
    const dy = (this.dense ? (loops ? 104 : 60) : this.chain ? above + tokens : 96) / step.y;
    this.place = new Map(nodes.map((node) => [node.id, { x: margin + (node.x - left) * dx, y: above + (node.y - top) * dy }]));
    const size = { x: 2 * margin + (right - left) * dx + (this.dense ? 48 : 0), y: above + (bottom - top) * dy + (this.side < 0 ? looped : tokens) };
    this.draw(size);
    this.drawn = true;
  }

  half(node) {
    return Math.max(this.radius, (node.label.length * 7.6 + (this.dense ? 8 : 14)) / 2);
  }

  draw(size) {
    const { nodes, edges } = this;
    const { trace } = this.track;
    const lines = s("g", {});
    const texts = s("g", {});
    this.edgeViews = new Map();
    for (const edge of edges) if (edge.from !== edge.to) this.edgeViews.set(edge.id, this.edge(edge, lines, texts));
    for (const node of nodes) this.loops(node, lines, texts);
    this.nodeViews = new Map(nodes.map((node) => [node.id, this.node(node)]));
    const entry = nodes.filter((node) => node.kind === "start").map((node) => {
      const { x, y } = this.place.get(node.id);
      return arrow(x - this.half(node) - 20, y, x - this.half(node) - 1, y, "edge");
    });
    const svg = s("svg", {
      viewBox: `0 0 ${size.x} ${size.y}`, width: size.x, height: size.y, role: "img",
      "aria-label": `${trace.name}: ${counted(nodes.length, "node")}`,
    }, entry, lines, [...this.nodeViews.values()].map((view) => view.group), texts);
    this.element.replaceChildren(svg);
  }

  edge(edge, lines, texts) {
    const from = this.place.get(edge.from);
    const to = this.place.get(edge.to);
    const tree = this.track.trace.diagram.kind === "evaluation-tree";
    const [a, b] = [this.node_(edge.from), this.node_(edge.to)];
    const [x1, y1] = border(from, to, this.half(a), this.radius);
    const [x2, y2] = border(to, from, this.half(b), this.radius);
    const line = arrow(x1, y1, x2, y2, `edge ${edge.kind}`);
    const told = [`${edge.kind} ${edge.label}`, edge.scope, ...(edge.conditions ?? [])].filter(Boolean).join("\n");
    line.append(s("title", {}, told));
    lines.append(line);
    const middle = { x: (x1 + x2) / 2, y: (y1 + y2) / 2 };
    const room = Math.max(40, Math.hypot(x2 - x1, y2 - y1) - 8);
    const group = s("g", { class: "edge-text" });

    if (this.chain) {
      // Where there is no room for them, conditions are told when the pointer is there.
      const texts = room < 56 ? [] : [edge.scope, ...(edge.conditions ?? [])].filter(Boolean);
      const shown = texts.flatMap((text) => wrapped(text, Math.floor(room / 5.6)));
      const most = shown.length > MOST_LINES ? [...shown.slice(0, MOST_LINES - 1), "…"] : shown;
      const fits = 7.6 * edge.label.length <= room + 4;
      const rows = [[fits ? edge.label : cut(variableOf(edge.label), Math.floor((room + 4) / 7)), "name"], ...most.map((text) => [text, "small"])];
      rows.forEach(([text, kind], i) => {
        group.append(label(middle.x, middle.y - 8 - (rows.length - 1 - i) * 11.5, text, kind, told));
      });
    }
    texts.append(group);
    // The two edges into a join are one: what came of it is said below the join.
    if (tree) return { line, count: null };
    const count = label(middle.x, middle.y + (this.chain ? 15 : 12), "", "count", told);
    group.append(count);
    return { line, count, room };
  }

  node_(id) {
    return this.track.nodes[this.track.nodeAt.get(id)];
  }

  /** Self-loops, one for each kind: ignore leaning left, store leaning right, take (of sets) upright. */
  loops(node, lines, texts) {
    const { x, y } = this.place.get(node.id);
    const mine = this.edges.filter((edge) => edge.from === node.id && edge.to === node.id);
    const kinds = ["ignore", "take", "store"].filter((kind) => mine.some((edge) => edge.kind === kind));
    kinds.forEach((kind, place) => {
      const of = mine.filter((edge) => edge.kind === kind);
      const lean = [[0], [-0.62, 0.62], [-1.05, 0, 1.05]][kinds.length - 1][place];
      // Below the node where tokens stand above it.
      const up = this.side;
      const at = (angle, far) => [x + far * Math.sin(lean + angle), y - up * far * Math.cos(lean + angle)];
      const far = this.radius + LOOP;
      const points = [at(-0.34, this.radius), at(-0.5, far), at(0.5, far), at(0.34, this.radius + 2)];
      const [begin, one, two, end] = points.map((point) => point.map((v) => v.toFixed(1)).join(","));
      const [head, tail] = [points[3], points[2]];
      const line = s("g", { class: `edge ${kind}` },
        s("path", { class: "line", d: `M${begin} C${one} ${two} ${end}` }),
        s("path", { class: "head", d: headPath(...tail, ...head) }));
      const labels = of.map((edge) => edge.label).filter(Boolean);
      const names = labels.join(", ");
      lines.append(line);
      // Labels stand side by side over the state, out of the way of what the edges say.
      const tx = x + (kinds.length > 2 ? 18 : 3) * Math.sign(lean);
      const told = [`${kind} ${names}`, ...of.flatMap((edge) => edge.conditions ?? [])].join("\n");
      const room = Math.max(3, Math.min(24, Math.floor((this.dx - 10) / Math.max(1.4, kinds.length) / 5.2)));
      const heights = up > 0 ? [far + 18, far + 7] : [-far - 8, -far - 19];
      const short = names.length <= room ? names : labels.flatMap((text) => text.split(", ")).map(variableOf).join(", ");
      for (const [i, text] of [kind, cut(short, room)].entries()) {
        const shown = label(tx, y - heights[i], text, "small", told);
        if (lean) shown.classList.add(lean < 0 ? "ends" : "begins");
        texts.append(shown);
      }
      line.append(s("title", {}, told));
      of.forEach((edge) => this.edgeViews.set(edge.id, { line, count: null }));
    });
  }

  node(node) {
    const { x, y } = this.place.get(node.id);
    const half = this.half(node);
    const high = this.radius;
    const shape = (grow) => s("rect", {
      x: x - half - grow, y: y - high - grow, width: 2 * (half + grow), height: 2 * (high + grow), rx: high + grow,
    });
    const tokens = s("g", { class: "tokens" });
    const group = s("g", { class: `node ${node.kind}` }, shape(0),
      node.kind === "final" ? shape(-4) : null,
      s("text", { x, y: y + 4.5 }, node.label),
      s("title", {}, [node.label, ...(node.variables ?? [])].join(" ")), tokens);
    return { group, tokens };
  }

  show(p, alive, chosen) {
    if (!this.drawn) return;
    const { track } = this;
    const fired = firedEdges(track, p, alive);
    // Several edges may share one loop: it fires when one of them does.
    const word = new Map([...this.edgeViews.values()].map((view) => [view.line, ""]));
    for (const [id, view] of this.edgeViews) {
      const fire = fired.get(id);
      if (view.count) view.count.lastChild.data = fire ? heldText(fire.held, fire.refused, view.room) : "";
      if (fire) word.set(view.line, fire.taken || word.get(view.line) === "fired" ? "fired" : "refused");
    }
    const path = new Set(chosen === null ? [] : track.lineage(chosen).map((one) => one.node));
    for (const [line, fire] of word) {
      line.classList.toggle("fired", fire === "fired");
      line.classList.toggle("refused", fire === "refused");
    }
    const matched = (track.matchesAt.get(p) ?? []).length;
    for (const node of this.nodes) {
      const { group, tokens } = this.nodeViews.get(node.id);
      const i = track.nodeAt.get(node.id);
      group.classList.toggle("unvisited", track.visited[i] > p);
      group.classList.toggle("chosen", path.has(node.id));
      group.classList.toggle("matched", node.kind === "final" && matched > 0);
      tokens.replaceChildren(...this.tokens(node, alive[i], p, chosen, track), ...this.joined(node, fired));
    }
  }

  /** What came of the evaluations of a join, below it. */
  joined(node, fired) {
    if (this.side > 0) return [];
    const into = this.edges.flatMap((edge) => (edge.to === node.id && fired.has(edge.id) ? [fired.get(edge.id)] : []));
    const [held, refused] = ["held", "refused"].map((name) => into.reduce((sum, fire) => sum + fire[name], 0));
    const { x, y } = this.place.get(node.id);
    return held || refused ? [label(x, y + this.radius + 16, heldText(held, refused), "count")] : [];
  }

  tokens(node, instances, p, chosen, track) {
    const { x, y } = this.place.get(node.id);
    let text = "";
    if (node.kind === "final") {
      const n = track.counter("matches", p);
      text = n ? counted(n, "match", "matches") : "";
      if (!instances.length || this.dense) {
        if (!text) return [];
        // Edges come to the final state of a tree NFA from above and below: there is room beside it.
        if (!this.dense) return [label(x, y + this.side * (this.radius + 12) + 4, text, "tally")];
        const tally = label(x + this.half(node) + 6, y + 4, text, "tally");
        tally.classList.add("begins");
        return [tally];
      }
    }
    if (!instances.length) return [];
    const shown = instances.slice(-6 * this.rows);
    const perRow = Math.min(6, shown.length);
    const rows = Math.ceil(shown.length / 6);
    const fresh = instances.filter((one) => one.born === p).length;
    text ||= `${instances.length.toLocaleString("en")}${fresh && p ? ` (+${fresh.toLocaleString("en")})` : ""}`;
    const dots = shown.map((one, i) => {
      const cx = x + ((i % 6) - (Math.min(6, shown.length - 6 * Math.floor(i / 6)) - 1) / 2) * PITCH;
      const cy = y + this.side * (this.radius + 10 + Math.floor(i / 6) * PITCH);
      const colour = one.event === null ? "var(--soft)" : track.tape.colour(one.event);
      return s("g", {
        class: `token${one.born === p && p ? " new" : ""}${one.id === chosen ? " chosen" : ""}`,
        "data-instance": one.id, onclick: () => this.choose(one.id),
      }, s("title", {}, `instance ${one.id}: ${track.bindingText(one.id)}`),
      s("circle", { cx, cy, r: DOT + 3, class: "reach" }), s("circle", { cx, cy, r: DOT, fill: colour }));
    });
    if (this.dense) {
      const tally = label(x + (perRow * PITCH) / 2 + 4, y + this.radius + 14, text, "tally");
      tally.classList.add("begins");
      return [...dots, tally];
    }
    const wide = Math.max(perRow * PITCH, 5.4 * text.length) + 6;
    const high = rows * PITCH + 16;
    const top = this.side > 0 ? y + this.radius + 3 : y - this.radius - 3 - high;
    return [
      s("rect", { class: "ground", x: x - wide / 2, y: top, width: wide, height: high, rx: 4 }),
      ...dots, label(x, y + this.side * (this.radius + 12 + rows * PITCH) + 4, text, "tally"),
    ];
  }
}

/** How many evaluations held; shorter where there are only so many pixels. */
function heldText(held, refused, room = Infinity) {
  if (!held && !refused) return "";
  const [some, all] = [held, held + refused].map((n) => n.toLocaleString("en"));
  const text = `${some} of ${all} held`;
  return 6.4 * text.length <= room + 6 ? text : `${some}/${all}`;
}

/** Which edges were tried in the step before p, and how it went, by their ids. */
function firedEdges(track, p, alive) {
  const fired = new Map();
  const at = (id) => {
    if (!fired.has(id)) fired.set(id, { taken: false, held: 0, refused: 0 });
    return fired.get(id);
  };
  const taking = new Map();
  for (const edge of track.edges) {
    if (edge.kind === "take" || edge.kind === "join") taking.set(`${edge.from} ${edge.to}`, edge.id);
  }
  for (const op of track.ops(p)) {
    if (op[0] === "evaluate") {
      const fire = at(op[2]);
      if (op[5]) fire.held += 1;
      else fire.refused += 1;
      fire.taken ||= Boolean(op[5]);
    } else if (op[0] === "create") {
      for (const parent of op[2] ?? []) {
        const id = taking.get(`${track.index.get(parent)?.node} ${op[3]}`);
        if (id !== undefined) at(id).taken = true;
      }
    } else if (op[0] === "store") {
      for (const edge of track.edges) {
        const stores = edge.kind === "store" && edge.label.split(/[^\p{L}\p{N}_]+/u).includes(op[2]);
        if (stores && alive[track.nodeAt.get(edge.from)].length) at(edge.id).taken = true;
      }
    }
  }
  return fired;
}

/** The least distances of nodes in a row and of rows; where columns are independent, in each. */
function nearest(nodes, columns) {
  let [x, y] = [Infinity, Infinity];
  nodes.forEach((a, i) => nodes.slice(i + 1).forEach((b) => {
    const [dx, dy] = [Math.abs(a.x - b.x), Math.abs(a.y - b.y)];
    if (dy < 0.5 && dx > 1e-6) x = Math.min(x, dx);
    if ((dx < 0.5 || !columns) && dy > 1e-6) y = Math.min(y, dy);
  }));
  return { x: Number.isFinite(x) ? x : 1, y: Number.isFinite(y) ? y : 1 };
}

/** Where the line from one node to another leaves it: a pill, half as wide as `half`. */
function border(from, to, half, radius) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const far = Math.hypot(dx, dy) || 1;
  const straight = half - radius;
  const side = Math.abs(dx) * radius > Math.abs(dy) * straight ? straight * Math.sign(dx) : (dx / (Math.abs(dy) || 1)) * radius;
  const sx = from.x + Math.max(-straight, Math.min(straight, side));
  return [sx + (dx / far) * (radius + 1), from.y + (dy / far) * (radius + 1)];
}

function headPath(x0, y0, x1, y1) {
  const far = Math.hypot(x1 - x0, y1 - y0) || 1;
  const [dx, dy] = [(x1 - x0) / far, (y1 - y0) / far];
  return `M${x1},${y1} L${x1 - 9 * dx - 4 * dy},${y1 - 9 * dy + 4 * dx} L${x1 - 9 * dx + 4 * dy},${y1 - 9 * dy - 4 * dx} Z`;
}

function arrow(x1, y1, x2, y2, kind) {
  return s("g", { class: kind }, s("path", { class: "line", d: `M${x1},${y1} L${x2},${y2}` }),
    s("path", { class: "head", d: headPath(x1, y1, x2, y2) }));
}

/** Lines of at most so many characters, broken at spaces. */
function wrapped(text, room) {
  const lines = [];
  for (const word of text.split(" ")) {
    const whole = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && whole.length <= room) lines[lines.length - 1] = whole;
    else lines.push(cut(word, Math.max(4, room)));
  }
  return lines;
}

function label(x, y, text, kind, told) {
  return s("text", { x, y, class: `label ${kind}` }, told ? s("title", {}, told) : null, document.createTextNode(text));
}

// ---------------------------------------------------------------- a card

/** One trace: its automaton or tree, what was evaluated, buffers, instances, a lineage. */
class Card {
  constructor(track, tell) {
    this.track = track;
    this.tell = tell;
    this.chosen = null;
    this.diagram = new Diagram(track, (id) => this.choose(id));
    this.facts = h("dl", { class: "facts" });
    this.lineage = h("div", { class: "lineage", role: "status" });
    const name = track.trace.name;
    [this.evaluations, this.evaluationsHead] = pane("Evaluations in this step", name);
    [this.buffer, this.bufferHead] = pane("Input buffer", name);
    [this.instances, this.instancesHead] = pane("Instances", name);
    this.element = h("section", { class: "card", "aria-label": name },
      h("h3", {}, lineSample(track.number), name), this.facts, this.diagram.element, this.lineage,
      h("div", { class: "panes" }, ...[this.evaluations, this.buffer, this.instances].map((each) => each.parentNode)));
  }

  choose(id) {
    this.chosen = this.chosen === id ? null : id;
    this.tell();
  }

  show(p, seek) {
    const alive = this.track.alive(p);
    this.diagram.show(p, alive, this.chosen);
    this.showFacts(p);
    this.showEvaluations(p);
    this.showBuffer(p);
    this.showInstances(p, alive);
    this.showLineage(p, seek);
  }

  showFacts(p) {
    this.facts.replaceChildren(...COUNTERS.map(([name, text]) =>
      h("div", {}, h("dt", {}, text), h("dd", { "data-counter": name }, this.track.counter(name, p).toLocaleString("en")))));
  }

  showEvaluations(p) {
    const { track } = this;
    const rows = [];
    let [all, held] = [0, 0];
    for (const op of track.ops(p)) {
      if (op[0] === "refuse" && rows.length < MOST_ROWS) rows.push(this.refusal(op));
      if (op[0] === "close" && rows.length < MOST_ROWS) rows.push(this.closing(op));
      if (op[0] !== "evaluate") continue;
      all += 1;
      held += op[5] ? 1 : 0;
      if (rows.length < MOST_ROWS) rows.push(this.evaluation(op));
    }
    this.evaluationsHead.data = all ? `${held.toLocaleString("en")} of ${all.toLocaleString("en")} held` : "";
    if (all > MOST_ROWS) rows.push(h("p", { class: "rest" }, `and ${(all - MOST_ROWS).toLocaleString("en")} more`));
    this.evaluations.replaceChildren(...(rows.length ? rows : [h("p", { class: "rest" }, "none")]));
  }

  evaluation([, id, edge, candidate, conditions, held, other]) {
    const { track } = this;
    const variable = variableOf(track.edges[track.edgeAt.get(edge)]?.label ?? "");
    const with_ = candidate === null || candidate === undefined ? track.bindingText(other) : track.tape.name[candidate];
    return outcomeRow(held, "held", "refused", this.link(id, track.bindingText(id)), " + ", h("b", {}, with_),
      candidate === null ? null : h("span", { class: "soft" }, ` as ${variable}`), this.checked(conditions));
  }

  /** An event that conditions on its variable alone refuse. */
  refusal([, event, variable, conditions]) {
    return outcomeRow(false, "", "refused", h("b", {}, this.track.tape.name[event]),
      h("span", { class: "soft" }, ` for ${variable}`), this.checked(conditions));
  }

  /** Whether the set of an instance may end with the members that it has. */
  closing([, id, conditions, held]) {
    return outcomeRow(held, "closed", "not closed", this.link(id, this.track.bindingText(id)), this.checked(conditions));
  }

  checked(conditions) {
    if (!conditions.length) return null;
    return h("span", { class: "conditions" }, ...conditions.map(([clause, text, outcome]) =>
      h("span", { class: "condition", title: this.track.clauses[clause]?.text ?? "" }, `${text} ${outcome ? "✓" : "✗"}`)));
  }

  link(id, text) {
    return h("button", {
      type: "button", class: `link${id === this.chosen ? " chosen" : ""}`, title: `instance ${id}`,
      "aria-pressed": String(id === this.chosen), onclick: () => this.choose(id),
    }, text);
  }

  chip(event, word = "") {
    const { tape } = this.track;
    return h("span", { class: `chip ${word}`, title: tape.told(event), style: `--hue:${tape.colour(event)}` }, tape.name[event]);
  }

  showBuffer(p) {
    const buffer = this.track.buffer(p);
    const kept = this.track.counter("stored", p);
    this.bufferHead.data = kept ? counted(kept, "event") : "";
    const rows = [...buffer].map(([variable, entries]) => {
      const shown = entries.slice(-MOST_ROWS / 2);
      const chips = shown.map(({ event, born, died }) => this.chip(event, died <= p ? "gone" : born === p && p ? "new" : ""));
      const before = entries.length - shown.length;
      return h("div", { class: "stored" }, h("b", {}, variable),
        h("span", {}, before ? `${before.toLocaleString("en")} older … ` : null, ...chips.flatMap((chip) => [chip, " "])));
    });
    this.buffer.replaceChildren(...(rows.length ? rows : [h("p", { class: "rest" }, "empty")]));
  }

  showInstances(p, alive) {
    const { track } = this;
    const living = alive.flat().sort((a, b) => b.id - a.id);
    const ended = track.ops(p).filter((op) => op[0] === "discard").map((op) => track.index.get(op[1]));
    this.instancesHead.data = living.length ? `${living.length.toLocaleString("en")} alive` : "";
    const shown = living.slice(0, MOST_ROWS);
    const rows = [...shown, ...ended.slice(0, MOST_ROWS / 4)].map((one) => this.instance(one, p));
    const more = living.length - shown.length;
    const table = h("table", {}, h("thead", {}, h("tr", {}, ...["no.", "state", "events taken"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...rows));
    this.instances.replaceChildren(...(rows.length ? [table] : [h("p", { class: "rest" }, "none")]),
      ...(more ? [h("p", { class: "rest" }, `and ${counted(more, "older one")}`)] : []));
  }

  instance(one, p) {
    const ended = one.died <= p;
    const word = ended ? "gone" : one.born === p && p ? "new" : "";
    const binding = this.track.binding(one.id).flatMap(([, events]) => events.map((event) => this.chip(event)));
    return h("tr", { class: `${word}${one.id === this.chosen ? " chosen" : ""}` },
      h("td", {}, this.link(one.id, String(one.id))),
      h("td", {}, this.track.nodeLabel(one.node)),
      h("td", {}, ...binding.flatMap((chip, i) => (i ? [" → ", chip] : [chip])),
        ended ? h("span", { class: "soft" }, ` ${this.track.reason(one.reason)}${this.breaker(one)}`) : null,
        word === "new" ? h("span", { class: "soft" }, " new") : null));
  }

  /** The event that must not be there, where that ended an instance. */
  breaker(one) {
    return one.by === undefined ? "" : `: ${this.track.tape.name[one.by]}`;
  }

  showLineage(p, seek) {
    const { track } = this;
    const one = this.chosen === null ? undefined : track.index.get(this.chosen);
    this.lineage.hidden = !one;
    if (!one) return this.lineage.replaceChildren();
    // Steps are numbered from 0, as in Python: step n leads from position n to n + 1.
    const jump = (position) => h("button", { type: "button", class: "link", onclick: () => seek(position) }, `step ${position - 1}`);
    const items = track.lineage(one.id).map((each) => {
      const what = each.event === null || each.event === undefined
        ? each.parents.length > 1 ? `joins ${each.parents.join(" and ")}` : "is there from the beginning"
        : [`takes `, this.chip(each.event), ` for ${each.variable}`];
      return h("li", {}, this.link(each.id, `${each.id}`), ` at ${track.nodeLabel(each.node)} `, what,
        each.born ? [" in ", jump(each.born)] : null);
    });
    const end = one.died === NEVER ? "It is alive at the end of what is shown." : [`It ends in `, jump(one.died), `: ${track.reason(one.reason)}${this.breaker(one)}.`];
    const children = track.instances.filter((other) => other.parents.includes(one.id)).length;
    this.lineage.replaceChildren(h("h4", {}, `Instance ${one.id}${one.born > p ? ", not yet there" : ""}`,
      h("button", { type: "button", class: "link close", onclick: () => this.choose(one.id) }, "close")),
    h("ol", {}, ...items), h("p", {}, end, ` From it came ${counted(children, "instance")}.`));
  }

  badges(p) {
    const badges = new Map();
    const add = (variable, events) => [events].flat().forEach((event) => badges.set(event, variable));
    if (this.chosen !== null) this.track.binding(this.chosen).forEach(([variable, events]) => add(variable, events));
    else {
      const matches = this.track.matchesAt.get(p) ?? [];
      if (matches.length) Object.entries(matches[0].events).forEach(([variable, events]) => add(variable, events));
    }
    return badges;
  }
}

function outcomeRow(held, yes, no, ...parts) {
  return h("div", { class: `evaluation ${held ? "held" : "refused"}` },
    h("span", { class: "outcome" }, held ? `✓ ${yes}` : `✗ ${no}`), ...parts);
}

function pane(title, name) {
  const count = document.createTextNode("");
  const body = h("div", { class: "body", role: "region", tabindex: 0, "aria-label": `${title}: ${name}` });
  h("div", { class: "pane" }, h("h4", {}, title, h("span", { class: "soft" }, count)), body);
  return [body, count];
}

function lineSample(number) {
  const line = LINES[number % LINES.length];
  return s("svg", { class: `sample line${number % LINES.length}`, viewBox: "0 0 28 10", width: 28, height: 10, "aria-hidden": "true" },
    s("path", { d: "M1,5 L27,5", "stroke-dasharray": line.dash }));
}

// ---------------------------------------------------------------- counters

/** One counter over the steps, a line for each trace; a click goes there. */
class Chart {
  constructor(name, title, tracks, total, seek) {
    Object.assign(this, { name, tracks, total });
    const columns = tracks.map((track) => track.trace.counters[name] ?? []);
    this.most = Math.max(1, ...columns.map((column) => column.reduce((a, b) => Math.max(a, b), 0)));
    const y = (value) => 98 - (94 * value) / this.most;
    const paths = columns.map((column, i) => s("path", {
      "data-trace": i,
      class: `series line${i % LINES.length}`, "stroke-dasharray": LINES[i % LINES.length].dash,
      d: linePath(column, tracks[i].counter(name, 0), total, y),
    }));
    this.cursor = s("path", { class: "cursor" });
    const svg = s("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true" },
      s("path", { class: "axis", d: "M0,98 L1000,98" }), ...paths, this.cursor);
    this.values = h("span", { class: "values" });
    this.plot = h("div", { class: "plot", onpointerdown: (pressed) => this.drag(pressed, seek) }, svg,
      h("span", { class: "most" }, this.most.toLocaleString("en")));
    this.element = h("figure", { class: "chart", "data-chart": name }, h("figcaption", {}, h("span", {}, title), this.values), this.plot);
  }

  drag(pressed, seek) {
    const go = ({ clientX }) => {
      const box = this.plot.getBoundingClientRect();
      seek(Math.round(((clientX - box.left) / Math.max(1, box.width)) * this.total));
    };
    const stop = () => {
      this.plot.removeEventListener("pointermove", go);
      this.plot.removeEventListener("pointerup", stop);
    };
    // A pointer that no device made cannot be held.
    try { this.plot.setPointerCapture(pressed.pointerId); } catch { /* it is followed all the same */ }
    this.plot.addEventListener("pointermove", go);
    this.plot.addEventListener("pointerup", stop);
    go(pressed);
  }

  show(p) {
    const x = (1000 * p) / Math.max(1, this.total);
    this.cursor.setAttribute("d", `M${x},0 L${x},100`);
    this.values.replaceChildren(...this.tracks.map((track) =>
      h("span", {}, lineSample(track.number), h("b", {}, track.counter(this.name, p).toLocaleString("en")))));
  }
}

/** A path through the values; of many only the least and the most of each stretch. */
function linePath(column, first, total, y) {
  const width = Math.max(1, Math.ceil(column.length / (MOST_POINTS / 2)));
  const x = (step) => ((1000 * (step + 1)) / Math.max(1, total)).toFixed(2);
  const points = [`0,${y(first).toFixed(2)}`];
  for (let begin = 0; begin < column.length; begin += width) {
    let [low, high] = [begin, begin];
    for (let i = begin; i < Math.min(begin + width, column.length); i++) {
      if (column[i] < column[low]) low = i;
      if (column[i] > column[high]) high = i;
    }
    for (const i of [...new Set([Math.min(low, high), Math.max(low, high)])]) points.push(`${x(i)},${y(column[i]).toFixed(2)}`);
  }
  return `M${points.join(" L")}`;
}

// ---------------------------------------------------------------- the whole

class Player {
  constructor(root, doc, options) {
    this.doc = doc;
    this.tape = new Tape(doc);
    this.tracks = doc.traces.map((trace, i) => new Track(trace, i, this.tape, doc.reasons ?? {}));
    this.tracks.forEach((track) => { track.clauses = doc.clauses ?? []; });
    this.total = Math.max(0, ...doc.traces.map((trace) => trace.steps.length));
    this.matches = [...new Set(this.tracks.flatMap((track) => track.matchPositions))].sort((a, b) => a - b);
    this.listener = options.onstep ?? null;
    this.timer = null;
    this.position = 0;
    this.seek = this.seek.bind(this);
    this.build(root, options);
    this.seek(options.step ?? 0, true);
  }

  build(root, options) {
    this.host = h("div", { class: "cepkit-player", "data-lm-suppress-shortcuts": "true" });
    const shadow = this.host.attachShadow({ mode: "open" });
    this.pattern = new PatternView(this.doc);
    this.strip = new TapeView(this.tape, this.seek);
    this.cards = this.tracks.map((track) => new Card(track, () => this.show()));
    this.sentence = h("p", { class: `sentence${this.cards.length > 1 ? " long" : ""}`, role: "status", "aria-live": "polite" });
    this.charts = COUNTERS.map(([name, title]) => new Chart(name, title, this.tracks, this.total, this.seek));
    this.frame = h("div", { class: "player", tabindex: 0, role: "region", "aria-label": "player of evaluation mechanisms; ? lists the keys" },
      h("style", {}, STYLE), this.banner(), this.pattern.element, this.strip.element, this.transport(), this.help(), this.sentence,
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
    this.slider = h("input", { type: "range", min: 0, max: this.total, step: 1, value: 0, "aria-label": "step", oninput: () => this.seek(Number(this.slider.value)) });
    this.count = h("output", { class: "count" });
    const ticks = s("svg", { class: "ticks", viewBox: "0 0 1000 6", preserveAspectRatio: "none", "aria-hidden": "true" },
      ...[...new Set(this.matches.map((p) => Math.round((1000 * p) / Math.max(1, this.total))))].map((x) => s("path", { d: `M${x},0 L${x},6` })));
    return h("div", { class: "transport", role: "toolbar", "aria-label": "transport" },
      h("span", { class: "buttons" },
        button("first", "First", () => this.seek(0)), button("back", "Back", () => this.seek(this.position - 1)), this.playButton,
        button("next", "Step", () => this.seek(this.position + 1)), button("last", "Last", () => this.seek(this.total)),
        button("matchBack", "Previous match", () => this.toMatch(-1)), button("matchNext", "Next match", () => this.toMatch(1)),
        this.speed, h("button", { type: "button", "aria-label": "Keys", title: "Keys", "data-action": "help", "aria-expanded": "false", onclick: () => this.toggleHelp() }, "?")),
      h("span", { class: "scrub" }, this.slider, ticks), this.count);
  }

  help() {
    this.keys = h("div", { class: "keys", hidden: true }, h("dl", {}, ...KEYS.map(([key, text]) => h("div", {}, h("dt", {}, key), h("dd", {}, text)))),
      h("p", {}, "Ticks below the slider are matches. Click a token or an instance to see where it came from, an event or a chart to go there."));
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
    if (on instanceof HTMLSelectElement) return;
    // A button that has the focus keeps the space bar, a region that scrolls its keys.
    if (pressed.key === " " && on instanceof HTMLButtonElement && inside) return;
    if (on instanceof HTMLElement && on.classList.contains("body") && /^(Page|Home|End| )/.test(pressed.key)) return;
    const actions = {
      ArrowLeft: () => this.seek(this.position - 1), ArrowRight: () => this.seek(this.position + 1),
      PageUp: () => this.seek(this.position - 10), PageDown: () => this.seek(this.position + 10),
      Home: () => this.seek(0), End: () => this.seek(this.total), " ": () => this.toggle(),
      n: () => this.toMatch(1), p: () => this.toMatch(-1),
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
  }

  faster(by) {
    this.speed.selectedIndex = Math.max(0, Math.min(SPEEDS.length - 1, this.speed.selectedIndex + by));
  }

  toMatch(direction) {
    const { matches, position } = this;
    const to = direction > 0 ? matches.find((p) => p > position) : matches.findLast((p) => p < position);
    if (to !== undefined) this.seek(to);
  }

  toggle() {
    if (this.timer !== null) return this.pause();
    if (this.position >= this.total) this.seek(0);
    const tick = () => {
      this.seek(this.position + 1, false, true);
      if (this.position >= this.total) this.pause();
      else this.timer = setTimeout(tick, 1000 / Number(this.speed.value));
    };
    this.timer = setTimeout(tick, 0);
    this.playing(true);
  }

  pause() {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.playing(false);
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
    if (!playing && this.timer !== null) this.pause();
    const position = Math.max(0, Math.min(this.total, Math.round(Number(to)) || 0));
    const moved = position !== this.position;
    this.position = position;
    this.show();
    if (moved && !quiet && this.listener) this.listener(position);
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
    this.slider.setAttribute("aria-valuetext", `step ${p} of ${total}`);
    this.count.value = `${p.toLocaleString("en")} / ${total.toLocaleString("en")}`;
    this.sentence.textContent = toldAll(this.tape, this.tracks, p, total);
    this.cards.forEach((card) => card.show(p, this.seek));
    this.charts.forEach((chart) => chart.show(p));
    this.host.dataset.step = p;
  }

  /** Widths have changed, or are known for the first time. */
  fit() {
    const width = this.frame.clientWidth;
    if (!width) return;
    this.strip.room = Math.max(5, Math.min(25, Math.floor((width - 30) / 46)));
    this.cards.forEach((card) => card.diagram.fit(card.diagram.element.clientWidth));
    this.show();
  }
}

/** Light or dark as the page is, not as the system: notebooks have themes of their own. */
function watchTheme(host, wanted) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const body = document.body;
  const read = () => {
    const { jpThemeLight, vscodeThemeKind } = body.dataset;
    const dark = wanted !== "auto" ? wanted === "dark"
      : jpThemeLight ? jpThemeLight === "false"
        : vscodeThemeKind ? vscodeThemeKind.includes("dark")
          : system.matches;
    host.dataset.theme = dark ? "dark" : "light";
  };
  read();
  const observer = new MutationObserver(read);
  observer.observe(body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-vscode-theme-kind"] });
  system.addEventListener("change", read);
  return () => {
    observer.disconnect();
    system.removeEventListener("change", read);
  };
}

const STYLE = `
:host { display: block; container: player / inline-size; color-scheme: light;
  --ink: var(--jp-ui-font-color1, var(--vscode-editor-foreground, #1c1e21));
  --soft: var(--jp-ui-font-color2, #5c6066); --line: var(--jp-border-color2, #d5d8dc);
  --paper: var(--jp-layout-color0, var(--vscode-editor-background, #ffffff)); --shade: rgba(120, 128, 140, .11);
  --fire: #c24e00; --cool: #0072B2; --good: #00684c; --focus: #0072B2; }
:host([data-theme="dark"]) { color-scheme: dark;
  --ink: var(--jp-ui-font-color1, var(--vscode-editor-foreground, #e6e7e9));
  --soft: var(--jp-ui-font-color2, #a4a8ae); --line: var(--jp-border-color2, #3c4046);
  --paper: var(--jp-layout-color0, var(--vscode-editor-background, #15171a)); --shade: rgba(150, 160, 175, .15);
  --fire: #ff8f3f; --cool: #56B4E9; --good: #4ac7a0; --focus: #56B4E9; }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
.player { color: var(--ink); background: var(--paper); font: 13px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  padding: 10px; text-align: left; font-variant-numeric: tabular-nums; min-width: 0; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; border-radius: 4px; }
.player:focus-visible { outline-offset: -2px; }
h3, h4, p, pre, dl, dd, dt, figure, ol { margin: 0; padding: 0; }
.soft, .rest { color: var(--soft); font-weight: 400; }
.banner { padding: 6px 10px; margin-bottom: 8px; border-left: 4px solid #E69F00; background: var(--shade); }
.pattern { font: 12.5px/1.6 ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; margin-bottom: 8px; }
.pattern span { border-radius: 3px; border-bottom: 2px solid transparent; }
.pattern .held { background: color-mix(in srgb, var(--good) 22%, transparent); border-bottom: 2px solid var(--good); }
.pattern .failed { background: color-mix(in srgb, var(--fire) 16%, transparent); border-bottom: 2px dotted var(--fire); }
.tape { display: flex; gap: 3px; align-items: flex-start; margin-bottom: 8px; min-height: 66px; }
.event { flex: 1 1 0; min-width: 0; max-width: 58px; padding: 0; border: 0; background: none; color: inherit; font: inherit; cursor: pointer; text-align: center; }
.event .box { display: block; border-radius: 5px; border: 2px solid transparent; padding: 2px 0 1px; line-height: 1.25; }
.event b, .event i, .event .time, .event .badge { display: block; overflow: hidden; white-space: nowrap; }
.event b { font-size: 12px; } .event i { font-style: normal; font-size: 10.5px; min-height: 1.25em; }
.event .time { font-size: 9.5px; letter-spacing: -.02em; color: var(--soft); } .event .badge { font-size: 10.5px; font-weight: 700; min-height: 1.3em; line-height: 1.3; color: var(--fire); }
.event.past .box, .event.now .box { background: var(--hue); color: var(--on); }
.event.now .box { border-color: var(--ink); box-shadow: 0 0 0 1px var(--paper) inset; }
.event.now .time { color: var(--ink); font-weight: 700; letter-spacing: -.05em; overflow: visible; }
.event.future .box { border: 2px dashed var(--hue); padding: 2px 0 1px; }
.more { align-self: center; color: var(--soft); }
.transport { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 10px; margin-bottom: 6px; }
.buttons { display: flex; gap: 4px; flex-wrap: wrap; }
.transport button, .transport select { min-width: 32px; height: 32px; padding: 0 6px; display: inline-flex; align-items: center; justify-content: center;
  color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: 5px; font: inherit; cursor: pointer; }
.transport button:hover, .transport select:hover { background: var(--shade); }
.scrub { flex: 1 1 180px; min-width: 140px; position: relative; height: 32px; }
.scrub input { width: 100%; height: 26px; margin: 0; accent-color: var(--cool); cursor: pointer; }
.ticks { position: absolute; left: 8px; right: 8px; bottom: 1px; width: calc(100% - 16px); height: 6px; pointer-events: none; overflow: visible; }
.ticks path { stroke: var(--fire); stroke-width: 1.6; vector-effect: non-scaling-stroke; }
.count { min-width: 6.5em; text-align: right; }
.keys { background: var(--shade); border-radius: 6px; padding: 8px 12px; margin-bottom: 8px; }
.keys dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: 2px 16px; margin-bottom: 4px; }
.keys dl div { display: flex; gap: 8px; } .keys dt { font-weight: 700; min-width: 8.5em; }
.sentence { min-height: 3em; padding: 4px 0 6px; overflow-wrap: anywhere; }
.sentence.long { min-height: 4.5em; }
.cards { display: grid; gap: 8px; grid-template-columns: minmax(0, 1fr); }
.card { container: card / inline-size; border: 1px solid var(--line); border-radius: 6px; padding: 8px 10px; min-width: 0; }
.card h3 { font-size: 14px; overflow-wrap: anywhere; }
.facts { display: flex; flex-wrap: wrap; gap: 0 14px; font-size: 12px; margin-bottom: 2px; }
.facts div { display: flex; gap: 5px; } .facts dt { color: var(--soft); } .facts dd { font-weight: 700; }
.diagram { overflow-x: auto; overflow-y: hidden; }
.diagram > svg { display: block; margin: 0 auto; font-family: inherit; }
.edge .line { fill: none; stroke: var(--soft); stroke-width: 1.3; } .edge .head { fill: var(--soft); }
.edge.store .line { stroke-dasharray: 6 4; } .edge.ignore .line { stroke-dasharray: 1.5 3.5; }
.edge.fired .line { stroke: var(--fire); stroke-width: 3.2; } .edge.fired .head { fill: var(--fire); stroke: var(--fire); stroke-width: 2; }
.edge.refused .line { stroke: var(--cool); stroke-width: 2.4; stroke-dasharray: 7 4; } .edge.refused .head { fill: var(--cool); }
.node > rect { fill: var(--paper); stroke: var(--ink); stroke-width: 1.4; }
.node > text { text-anchor: middle; font-size: 12.5px; font-weight: 600; fill: var(--ink); }
.node.final > rect { fill: #F0E442; stroke: #111; } .node.final > text { fill: #111; }

.node.unvisited { opacity: .3; } .node.unvisited > rect { stroke-dasharray: 3 3; }
.node.chosen > rect:first-child { stroke: var(--fire); stroke-width: 3; }
.node.matched > rect:first-child { stroke: var(--fire); stroke-width: 4; animation: flash .5s ease-out; }
@keyframes flash { from { stroke-width: 16; } }
.token { cursor: pointer; } .token .reach { fill: transparent; } .token circle { stroke: var(--ink); stroke-width: .6; } .token .reach { stroke: none; }
.token.new circle:last-child { stroke-width: 2.4; } .token.chosen circle:last-child { stroke: var(--fire); stroke-width: 3.4; }
.ground { fill: var(--paper); opacity: .86; }
.label { text-anchor: middle; font-size: 10.5px; fill: var(--ink); stroke: var(--paper); stroke-width: 3; paint-order: stroke; stroke-linejoin: round; }
.label.ends { text-anchor: end; } .label.begins { text-anchor: start; }
.label.name { font-size: 11.5px; font-weight: 700; } .label.small { font-size: 10px; fill: var(--soft); } .label.count { font-weight: 700; fill: var(--fire); }
.lineage { background: var(--shade); border-radius: 5px; padding: 6px 10px; margin: 4px 0; max-height: 13em; overflow: auto; }
.lineage ol { padding-left: 1.4em; } .lineage h4 { display: flex; justify-content: space-between; }
.panes { display: grid; grid-template-columns: minmax(0, 1fr); gap: 8px; margin-top: 6px; }
.pane h4 { font-size: 12px; display: flex; justify-content: space-between; border-bottom: 1px solid var(--line); }
.body { height: 10.4em; overflow: auto; padding: 3px 2px; font-size: 12px; }
.evaluation { padding: 2px 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.outcome { display: inline-block; min-width: 5.6em; font-weight: 700; } .held .outcome { color: var(--good); } .refused .outcome { color: var(--fire); }
.conditions { display: inline-flex; flex-wrap: wrap; gap: 0 10px; margin-left: 8px; } .condition { white-space: nowrap; color: var(--soft); }
.link { font: inherit; color: inherit; background: none; border: 0; padding: 1px 2px; min-height: 20px; cursor: pointer; text-decoration: underline dotted; text-underline-offset: 2px; }
.link.chosen { font-weight: 700; color: var(--fire); }
.stored { display: grid; grid-template-columns: minmax(2em, max-content) 1fr; gap: 8px; padding: 2px 0; border-bottom: 1px solid var(--line); }
.chip { display: inline-block; border-left: 5px solid var(--hue); background: var(--shade); border-radius: 3px; padding: 0 4px; white-space: nowrap; }
.chip.new { outline: 1.5px solid var(--ink); outline-offset: -1px; font-weight: 700; } .chip.gone, tr.gone .chip { text-decoration: line-through; opacity: .7; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 400; color: var(--soft); }
td, th { padding: 1px 6px 1px 0; vertical-align: top; border-bottom: 1px solid var(--line); } td:first-child { white-space: nowrap; }
tr.new td { font-weight: 600; } tr.gone td { color: var(--soft); } tr.chosen td { background: color-mix(in srgb, var(--fire) 14%, transparent); }
.charts { display: grid; align-items: end; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 8px 16px; margin-top: 10px; }
figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 8px; font-size: 12px; }
.values { display: inline-flex; flex-wrap: wrap; align-items: center; gap: 0 8px; } .values span { white-space: nowrap; }
.plot { position: relative; height: 72px; border-bottom: 1px solid var(--line); background: var(--shade); cursor: crosshair; touch-action: pan-y; }
.plot svg { display: block; width: 100%; height: 100%; overflow: visible; }
.plot .most { position: absolute; left: 3px; top: 0; font-size: 10px; color: var(--soft); pointer-events: none; }
.series, .sample path { fill: none; stroke-width: 1.8; vector-effect: non-scaling-stroke; }
.line0, .line0 path { stroke: var(--cool); } .line1, .line1 path { stroke: var(--fire); } .line2, .line2 path { stroke: var(--good); } .line3, .line3 path { stroke: #CC79A7; }
.sample { margin-right: 5px; vertical-align: middle; } .sample path { stroke-width: 2.4; }
.axis { stroke: var(--line); fill: none; } .cursor { stroke: var(--ink); stroke-width: 1.2; vector-effect: non-scaling-stroke; }
@container card (min-width: 330px) { .panes { grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); } .pane:first-child { grid-column: 1 / -1; } .pane:first-child .body { height: 6.9em; } }
@container card (min-width: 720px) { .panes { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr) minmax(0, 3fr); } .pane:first-child { grid-column: auto; } .pane:first-child .body { height: 10.4em; } }
@container player (min-width: 720px) { .of2, .of3 { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@container player (min-width: 1100px) { .of3 { grid-template-columns: repeat(3, minmax(0, 1fr)); } }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; } }
@media print { .transport { display: none; } .body { height: auto; } }
`;

// ---------------------------------------------------------------- ways in

/**
 * Show a player in `root`.
 *
 * options: step (where to begin), onstep (called with each new position), theme ("auto", "light",
 * "dark"), page (whether the whole page's keys are the player's).
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

/** As a notebook's widget: `step` goes both ways, at most some eight times a second outwards. */
function render({ model, el }) {
  let [waiting, sent] = [null, null];
  const send = (position) => {
    sent = position;
    if (waiting !== null) return;
    waiting = setTimeout(() => {
      waiting = null;
      model.set("step", sent);
      model.save_changes();
    }, 120);
  };
  let player = null;
  const show = () => {
    player?.destroy();
    player = mount(el, JSON.parse(model.get("document")), { step: model.get("step"), onstep: send });
  };
  const follow = () => { if (waiting === null) player.seek(model.get("step")); };
  show();
  model.on("change:document", show);
  model.on("change:step", follow);
  return () => {
    if (waiting !== null) clearTimeout(waiting);
    model.off("change:document", show);
    model.off("change:step", follow);
    player.destroy();
  };
}

export default { render, mount };
