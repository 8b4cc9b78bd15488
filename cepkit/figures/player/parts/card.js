// ---------------------------------------------------------------- a card

/** One trace: its automaton or tree, what was evaluated, buffers, instances, a lineage. */
class Card {
  constructor(track, tell) {
    this.track = track;
    this.tell = tell;
    this.chosen = null;
    this.picked = new Set();
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
    this.tell(this, id);
  }

  fit() {
    this.diagram.fit(this.diagram.element.clientWidth);
  }

  show(p, seek) {
    const alive = this.track.alive(p);
    this.diagram.show(p, alive, this.chosen, this.picked);
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

  /** Whether an instance is chosen, or picked as an answer of a quiz. */
  marked(id) {
    return id === this.chosen || this.picked.has(id);
  }

  link(id, text) {
    return h("button", {
      type: "button", class: `link${this.marked(id) ? " chosen" : ""}`, title: `instance ${id}`,
      "aria-pressed": String(this.marked(id)), onclick: () => this.choose(id),
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
    return h("tr", { class: `${word}${this.marked(one.id) ? " chosen" : ""}` },
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

