// ---------------------------------------------------------------- pattern text

/** The variables of events as patterns write them: "B b", "B b[1]", "KL(B b) GREEDY UNTIL C c", "NOT(SEQ(B b, c IN (C, D)))". */
function variablesOf(text) {
  const found = [];
  let [words, types] = [[], false];
  const take = (end) => {
    const begins = words.findIndex((word) => word !== "GREEDY" && word !== "UNTIL");
    if (end === "(") types = words.at(-1) === "IN";
    // Words before a bracket are operators, but for "a IN (".
    if (begins >= 0 && (end !== "(" || types)) found.push(words.at(types ? -2 : -1));
    words = [];
  };
  for (const [token] of text.matchAll(/"(?:[^"]|"")*"|[\p{L}_][\p{L}\p{N}_]*(?:\[\d+\])?|[(),{}]/gu)) {
    if (types) types = token !== ")";
    else if ("(),{}".includes(token)) take(token);
    else words.push(token);
  }
  take("");
  return found.map((word) => (word.startsWith('"') ? word.slice(1, -1).replaceAll('""', '"') : word));
}

/** The variable that an edge takes; what stands after UNTIL is not taken. */
const variableOf = (text) => variablesOf(text)[0] ?? "";

/** The variable of a group of which this is one repetition: "a" of "a[1]". */
const groupOf = (name) => name.replace(/\[\d+\]$/, "");

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
      for (const name of variablesOf(text)) this.byVariable.set(name, n);
    });
  }

  show(tracks, p) {
    const state = new Map();
    const mark = (clause, word) => {
      if (clause === undefined || clause === null || state.get(clause) === "held") return;
      state.set(clause, word);
    };
    for (const track of tracks) {
      for (const [what, by, word] of track.marks(p)) {
        if (by === "number") mark(what, word);
        else if (by === "variable") mark(this.byVariable.get(what) ?? this.byVariable.get(groupOf(what)), word);
        else this.clauses.forEach((clause, n) => clause.kind === what && mark(n, word));
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

const ACTIONS = {
  start: () => "starts",
  extend: (variable) => `→ ${variable}`,
  end: (variable) => `ends ${variable}`,
  expire: () => "expires",
  nothing: () => "–",
};

const LONGEST_NAME = 9;
/** About how many pixels a name takes in bold: narrow letters count as others do. */
const widthOf = (name) => [...name].reduce((sum, letter) => sum + (/[MW]/.test(letter) ? 12.5 : /[A-Z]/.test(letter) ? 9.5 : 8.5), 0);

class TapeView {
  constructor(tape, { actions, pieces }, seek) {
    Object.assign(this, { tape, actions, variables: pieces?.flat() ?? [], seek, room: 21 });
    // As wide as the longest name needs, so that no name loses the number that tells events apart.
    const names = new Set(tape.moments.map((moment) => this.name(moment)));
    this.pitch = Math.max(46, ...[...names].map((name) => 9 + widthOf(name)));
    this.element = h("div", { class: `tape${actions ? " bare" : ""}`, style: `--most:${Math.max(58, this.pitch)}px`, role: "group", "aria-label": "events" });
  }

  show(p, badges) {
    const { moments } = this.tape;
    const current = p - 1;
    const most = Math.min(this.room, moments.length);
    const begin = Math.max(0, Math.min(moments.length - most, current - Math.floor(most * 0.6)));
    const cells = [];
    for (let at = begin; at < begin + most; at++) cells.push(this.cell(at, current, badges));
    if (begin + most < moments.length) cells.push(h("span", { class: "more", "aria-hidden": "true" }, "…"));
    if (begin > 0) cells.unshift(h("span", { class: "more", "aria-hidden": "true" }, "…"));
    this.element.replaceChildren(...cells);
  }

  /** The name of an event, or where that is long its type alone. */
  name({ event, name }) {
    return cut(name.length > LONGEST_NAME && event !== null ? this.tape.type[event] : name, LONGEST_NAME);
  }

  cell(at, current, badges) {
    const { tape } = this;
    const moment = tape.moments[at];
    const { event } = moment;
    const expires = event === null;
    const when = at < current ? "past" : at > current ? "future" : "now";
    const colour = expires ? GREY : tape.colour(event);
    const what = momentText(tape, moment);
    return h("button", {
      class: `event ${when}${expires ? " expiry" : ""}`, type: "button", tabindex: -1, "data-event": event,
      style: `--hue:${colour};--on:${colour === "#0072B2" ? "#fff" : "#111"}`,
      "aria-current": when === "now" ? "step" : null, "aria-label": what, title: what,
      onclick: () => this.seek(at + 1),
    },
    h("span", { class: "box" }, h("b", {}, this.name(moment)), h("i", {}, this.below(at))),
    // Fractions of a second have no room here; the tooltip and the sentence have them.
    h("span", { class: "time" }, tape.clock(moment.time).replace(/^(\d\d:\d\d:\d\d)\.\d+$/, "$1").replace(/^(\d+)\.\d{4,} s$/, "$1 s")),
    h("span", { class: "badge" }, expires ? "" : badges.get(event) ?? ""));
  }

  /** What stands below the name: what the event does there, else its first attribute. */
  below(at) {
    const { event, position } = this.tape.moments[at];
    const action = event === null ? "expire" : this.actions?.[at];
    if (action) return ACTIONS[action](cut(this.variables[position - 1] ?? "", 4));
    const [first] = this.tape.values(event);
    return first ? cut(valueText(first[1]), 6) : "";
  }
}

