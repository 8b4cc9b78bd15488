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

  chosable() {
    return this.instances;
  }

  /** What tells an instance apart in every mechanism: its events. */
  named(id) {
    return JSON.stringify(this.binding(id).map(([variable, events]) => [variable, ...events.map((event) => this.tape.id[event])]).sort());
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
