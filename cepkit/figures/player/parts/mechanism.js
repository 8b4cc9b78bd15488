// ---------------------------------------------------------------- the trace of a mechanism

const COUNTERS = [["instances", "instances alive"], ["stored", "events stored"], ["evaluations", "evaluations"], ["matches", "matches"]];

/** More instances than so many in one state can be stopped at. */
const COMPANIONS = [1, 5, 20, 100];

/** A trace, indexed: what lives when, what happens in which step. */
class Track extends Recording {
  constructor(trace, number, tape, doc) {
    super(trace, number, tape);
    Object.assign(this, { reasons: doc.reasons ?? {}, clauses: doc.clauses ?? [] });
    this.nodes = trace.diagram.nodes;
    this.kind = SHAPES[trace.diagram.kind] ?? trace.diagram.kind;
    this.alike = new Map((trace.alike ?? []).flatMap((group) => group.map((clause) => [clause, group])));
    this.clausesOf = clausesByVariable(trace.patterns ?? [], this.clauses);
    this.edges = trace.diagram.edges;
    this.nodeAt = new Map(this.nodes.map((node, i) => [node.id, i]));
    this.edgeAt = new Map(this.edges.map((edge, i) => [edge.id, i]));
    this.instances = [];
    this.index = new Map();
    this.stored = [];
    this.visited = this.nodes.map((node) => (this.kind === "tree-nfa" && node.kind !== "start" ? NEVER : 0));
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
          Object.assign(this.known(op[1]), { died: step + 1, reason: reasonOf(op), by: op[3] });
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

  stops() {
    const reached = this.nodes.filter((node) => node.kind !== "start").map((node) => {
      const at = new Set(this.instances.filter((one) => one.node === node.id && one.born > 0).map((one) => one.born));
      return [`${node.label || node.id} is reached`, (p) => at.has(p)];
    });
    const fails = (p) => [...this.marks(p)].some(([, kind, outcome]) => kind === "number" && outcome === "failed");
    const crowded = COMPANIONS.map((n) =>
      [`more than ${counted(n, "instance")} in one state`, (p) => this.crowds[p] > n && this.crowds[p - 1] <= n]);
    return [["a condition fails", fails], ...reached, ...crowded];
  }

  /** For each position how many instances are in the state that has most of them. */
  get crowds() {
    if (this.most) return this.most;
    const size = this.trace.steps.length + 1;
    this.most = new Int32Array(size);
    for (const node of this.nodes) {
      const change = new Int32Array(size + 1);
      for (const { born, died, node: at } of this.instances) {
        if (at !== node.id) continue;
        change[Math.min(born, size)] += 1;
        change[Math.min(died, size)] -= 1;
      }
      for (let p = 0, now = 0; p < size; p++) this.most[p] = Math.max(this.most[p], now += change[p]);
    }
    return this.most;
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

  counter(name, p) {
    if (p === 0 && name === "instances") return this.instances.filter((one) => one.born === 0).length;
    return super.counter(name, p);
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
    if (this.kind === "tree") found.sort((a, b) => a[1][0] - b[1][0]);
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

  told(p) {
    return toldOf(this, p);
  }

  matchTexts(p) {
    return (this.matchesAt.get(p) ?? []).map((match) => (match.pattern ? `of ${match.pattern}: ` : "") + this.matchText(match));
  }

  /** How many matches of the patterns that end at a node have come by a position. */
  matchesOf(node, p) {
    return this.trace.matches.filter((match) => match.step < p && endsAt(node, match)).length;
  }

  /** What a step makes of clauses: [number, variable or kind, which of these it is, how it went]. */
  *marks(p) {
    for (const op of this.ops(p)) {
      const checked = op[0] === "evaluate" ? op[4] : op[0] === "refuse" ? op[3] : op[0] === "close" ? op[2] : [];
      for (const [clause, , outcome] of checked) {
        for (const one of this.checkedAs(clause, op)) yield [one, "number", outcome ? "held" : "failed"];
      }
      const variable = op[0] === "create" ? op[4] : op[0] === "store" ? op[2] : null;
      const clauses = this.clausesOf.get(variable);
      if (clauses) for (const clause of clauses) yield [clause, "number", "held"];
      else if (variable !== null) yield [variable, "variable", "held"];
      if (op[0] === "discard" && op[2] === "expired") yield ["window", "kind", "failed"];
      else if (op[0] === "discard" && op[2] === "absence") yield ["absence", "kind", "failed"];
    }
  }

  /** The clauses that are checked in one: those of all patterns that use the edge. */
  *checkedAs(clause, op) {
    yield clause;
    const edge = op[0] === "evaluate" ? this.edges[this.edgeAt.get(op[2])] : null;
    const users = edge ? this.nodes[this.nodeAt.get(edge.to)].patterns ?? [] : null;
    for (const { name, begin, end } of this.trace.patterns ?? []) {
      if (users && !users.includes(name)) continue;
      for (const other of this.alike.get(clause) ?? []) {
        if (this.clauses[other].begin >= begin && this.clauses[other].end <= end) yield other;
      }
    }
  }

  nodeLabel(id) {
    return this.nodes[this.nodeAt.get(id)]?.label ?? "";
  }

  /** The names of an event that must not be there, or of several. */
  forbidden(by) {
    return [by].flat().map((event) => this.tape.name[event]).join(" and ");
  }

  reason(word) {
    return this.reasons[word] ?? word;
  }
}

const SHAPES = { forest: "chain", "evaluation-tree": "tree", multitree: "tree" };

/** Whether a match is of a pattern that ends at a node; of one pattern all are. */
const endsAt = (node, match) => !node.ends || node.ends.includes(match.pattern);

/** Of several patterns the clauses of what steps call by one name: a shared event has one in each. */
function clausesByVariable(patterns, clauses) {
  const by = new Map();
  for (const { begin, end, variables } of patterns) {
    clauses.forEach((clause, n) => {
      if ((clause.kind !== "event" && clause.kind !== "absence") || clause.begin < begin || clause.end > end) return;
      const written = variablesOf(clause.text);
      for (const name of Object.keys(variables).filter((one) => written.includes(groupOf(one))).flatMap((one) => variables[one])) {
        if (!by.has(name)) by.set(name, []);
        by.get(name).push(n);
      }
    });
  }
  return by;
}

/** Why an instance ends; forbidden events that came together are a reason of their own. */
const reasonOf = (op) => (Array.isArray(op[3]) ? "together" : op[2]);

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
    else if (op[0] === "discard" && op[2] !== "matched") ended.set(reasonOf(op), (ended.get(reasonOf(op)) ?? 0) + 1);
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
      h("div", { class: "head" }, h("h3", {}, lineSample(track.number), name), this.diagram.controls), this.facts, this.diagram.element, this.lineage,
      h("div", { class: "panes" }, ...[this.evaluations, this.buffer, this.instances].map((each) => each.parentNode)));
  }

  choose(id) {
    this.chosen = this.chosen === id ? null : id;
    this.tell();
  }

  fit() {
    this.diagram.fit(this.diagram.element.clientWidth);
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
  closing([, id, conditions, held, by]) {
    return outcomeRow(held, "closed", "not closed", this.link(id, this.track.bindingText(id)), this.checked(conditions),
      by === undefined ? null : h("span", { class: "soft" }, ` ${this.track.forbidden(by)} ${Array.isArray(by) ? "are" : "is"} there`));
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
    const table = h("table", { "aria-label": "instances" }, h("thead", {}, h("tr", {}, ...["no.", "state", "events taken"].map((text) => h("th", { scope: "col" }, text)))),
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

  /** The events that must not be there, where they ended an instance. */
  breaker(one) {
    return one.by === undefined ? "" : `: ${this.track.forbidden(one.by)}`;
  }

  showLineage(p, seek) {
    const { track } = this;
    const one = this.chosen === null ? undefined : track.index.get(this.chosen);
    this.lineage.hidden = !one;
    if (!one) return this.lineage.replaceChildren();
    const jump = (position) => stepLink(position, seek);
    const items = track.lineage(one.id).map((each) => {
      const what = each.event === null || each.event === undefined
        ? each.parents.length > 1 ? `joins ${each.parents.join(" and ")}` : "is there from the beginning"
        : [`takes `, this.chip(each.event), ` for ${each.variable}`];
      return h("li", {}, this.link(each.id, `${each.id}`), ` at ${track.nodeLabel(each.node)} `, what,
        each.born ? [" in ", jump(each.born)] : null);
    });
    const end = one.died === NEVER ? "It is alive at the end of what is shown." : [`It ends in `, jump(one.died), `: ${track.reason(one.reason)}${this.breaker(one)}.`];
    const children = track.instances.filter((other) => other.parents.includes(one.id)).length;
    this.lineage.replaceChildren(chosenHead(`Instance ${one.id}`, one, p, () => this.choose(one.id)),
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

