// ---------------------------------------------------------------- the quiz

const QUIZ_KEYS = [["1 … 9, 0", "pick an instance, none"], ["Enter", "check the answer, go to the next question"]];

/**
 * Questions before steps: which instances does the next event extend? The player goes no further
 * than the first without an answer; what is right, the document says, and why, the trace.
 */
class Quiz {
  constructor(questions, cards, tape, seek) {
    Object.assign(this, { questions, cards, tape, seek, answers: new Map(), none: false, at: 0, judged: null });
    this.element = h("section", { class: "quiz", role: "region", "aria-label": "quiz" });
  }

  /** The first question without an answer. */
  get open() {
    return this.questions.find((question) => !this.answers.has(question));
  }

  get end() {
    return this.open?.step ?? Infinity;
  }

  /** The question that is asked now; what else is to be seen is its answer, or a way to the next. */
  get asked() {
    return !this.judged && this.open?.step === this.at ? this.open : null;
  }

  card({ trace }) {
    return this.cards[trace];
  }

  /** The instances to choose from, in the order of their keys. */
  choices({ trace, step }) {
    return this.cards[trace].track.alive(step).flat().sort((a, b) => a.id - b.id);
  }

  /** Pick an instance in a figure, or take it back; false where no question is about that. */
  pick(card, id) {
    const { asked } = this;
    if (!asked || this.card(asked) !== card || !this.choices(asked).some((one) => one.id === id)) return false;
    if (!card.picked.delete(id)) card.picked.add(id);
    this.none = false;
    this.again();
    return true;
  }

  pickNone() {
    this.none = !this.none;
    this.cards.forEach((card) => card.picked.clear());
    this.again();
  }

  again() {
    this.seek(this.at);
  }

  keys(on) {
    const { asked, open } = this;
    // A button that has the focus is pressed by Enter.
    const enter = on instanceof HTMLButtonElement ? {} : { Enter: () => (asked ? this.judge(asked) : open && this.next()) };
    if (!asked) return enter;
    const picks = this.choices(asked).map((one, i) => [String(i + 1), () => this.pick(this.card(asked), one.id)]);
    return { ...Object.fromEntries(picks), 0: () => this.pickNone(), ...enter };
  }

  /** Keep the answer and show the step; without a pick the answer is only shown. */
  judge(question, given = true) {
    const { picked } = this.card(question);
    if (given && !picked.size && !this.none) return;
    const { extends: right } = question;
    this.answers.set(question, { picked: new Set(picked), right: given && picked.size === right.length && right.every((id) => picked.has(id)) });
    picked.clear();
    Object.assign(this, { none: false, judged: question, at: question.step + 1 });
    this.seek(this.at);
    this.element.querySelector("button.next")?.focus({ preventScroll: true });
  }

  next() {
    this.judged = null;
    this.seek(this.open.step);
  }

  restart() {
    this.answers.clear();
    this.next();
  }

  show(p) {
    if (p !== this.at) {
      Object.assign(this, { at: p, judged: null, none: false });
      this.cards.forEach((card) => card.picked.clear());
    }
    const { asked, open } = this;
    const answered = this.judged ?? this.questions.find((question) => !asked && question.step + 1 === p && this.answers.has(question));
    const focused = this.element.getRootNode().activeElement?.dataset?.key;
    this.element.replaceChildren(this.head(answered ?? open), ...(answered ? this.verdict(answered) : asked ? this.question(asked) : []),
      ...(asked ? [] : [h("p", { class: "actions" }, open ? this.button(this.answers.size ? "Next question" : "First question", "next", () => this.next()) : this.button("Begin again", "next", () => this.restart()))]));
    this.element.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
  }

  head(shown) {
    const { questions, answers, asked } = this;
    const score = questions.filter((question) => answers.get(question)?.right).length;
    const text = shown ? `Question ${questions.indexOf(shown) + 1} of ${questions.length}` : "All questions are answered";
    const dots = questions.map((question) => {
      const word = answers.has(question) ? (answers.get(question).right ? "right" : "wrong") : question === asked ? "asked" : "open";
      return h("i", { class: word }, { right: "✓", wrong: "✗" }[word] ?? "");
    });
    return h("div", { class: "quizhead" }, h("h3", {}, text), h("span", { class: "dots", "aria-hidden": "true" }, ...dots),
      h("output", { class: "score" }, answers.size ? `${score} right of ${answers.size}` : ""));
  }

  question(question) {
    const { track, picked } = this.card(question);
    const several = this.cards.length > 1 ? [" in ", h("b", {}, track.trace.name)] : [];
    const options = this.choices(question).map((one, i) => this.option(i + 1, picked.has(one.id), () => this.pick(this.card(question), one.id), this.instance(track, one)));
    return [
      h("p", { class: "asks" }, "Next comes ", this.chip(question.step), `. Which instances does it extend`, ...several, "?"),
      h("div", { class: "options", role: "group", "aria-label": "instances" }, ...options, this.option(0, this.none, () => this.pickNone(), [h("span", {}, "none of them")])),
      h("p", { class: "actions" }, this.button("Check", "next", () => this.judge(question), !picked.size && !this.none),
        this.button("Show the answer", "shows", () => this.judge(question, false)), h("span", { class: "soft" }, "Pick here or in the figure, one or several.")),
    ];
  }

  option(key, pressed, onclick, content) {
    return h("button", { type: "button", class: "option", "aria-pressed": String(pressed), "data-key": key, onclick }, h("kbd", {}, String(key)), ...content);
  }

  button(text, name, onclick, disabled = false) {
    return h("button", { type: "button", class: name, disabled, "data-key": name, onclick }, text);
  }

  chip(event) {
    return h("span", { class: "chip", style: `--hue:${this.tape.colour(event)}` }, this.tape.told(event));
  }

  /** An instance by its events and its state: numbers mean little. */
  instance(track, one) {
    const events = track.binding(one.id).flatMap(([, taken]) => taken);
    const chips = events.flatMap((event, i) => [i ? " → " : null, h("span", { class: "chip", title: this.tape.told(event), style: `--hue:${this.tape.colour(event)}` }, this.tape.name[event])]);
    return [h("span", {}, ...(events.length ? chips : ["the beginning"])), " ", h("span", { class: "soft" }, track.nodeLabel(one.node))];
  }

  verdict(question) {
    const { picked, right } = this.answers.get(question);
    const { track } = this.card(question);
    const rows = this.choices(question).map((one) => {
      const extended = question.extends.includes(one.id);
      const own = picked.has(one.id) ? (extended ? "your answer" : "your answer, wrong") : extended && !right ? "missed" : "";
      return h("tr", { class: extended ? "extended" : "" }, h("td", {}, extended ? "✓" : "–"), h("td", {}, ...this.instance(track, one)),
        h("td", {}, extended ? "extended: " : "not extended: ", whyOf(track, question.step, one)), h("td", { class: "soft" }, own));
    });
    const stored = track.ops(question.step + 1).flatMap(([name, , variable]) => (name === "store" ? [variable] : []));
    const text = [question.extends.length ? `it extends ${counted(question.extends.length, "instance")}` : "it extends none",
      ...(stored.length ? [`it is stored for ${stored.join(" and ")}`] : [])].join("; ");
    return [
      h("p", { class: `verdict ${right ? "right" : "wrong"}`, role: "status" }, h("b", {}, right ? "✓ Right" : "✗ Not right"), " ", this.chip(question.step), `: ${text}.`),
      h("table", { "aria-label": "answer" }, h("tbody", {}, ...rows)),
    ];
  }
}

/** Why the event of a step extends an instance, or why not, in words. */
function whyOf(track, step, one) {
  const ops = track.ops(step + 1);
  const values = (checked) => checked.map(([, text, held]) => `${text} ${held ? "holds" : "does not hold"}`).join(" and ");
  const children = ops.filter((op) => op[0] === "create" && op[2].includes(one.id));
  const tried = ops.filter((op) => op[0] === "evaluate" && (op[1] === one.id || op[6] === one.id));
  if (children.length) {
    const checked = values(tried.filter((op) => op[5]).flatMap((op) => op[4]));
    const [first] = children;
    const what = first[5] === null ? "it joins with what it waited for" : `it takes ${track.tape.name[first[5]]} for ${first[4]}`;
    return checked ? `${what}, as ${checked}` : what;
  }
  const ended = ops.find((op) => op[0] === "discard" && op[1] === one.id);
  if (ended) return `it ends, as ${track.reason(reasonOf(ended))}${ended[3] === undefined ? "" : `: ${track.forbidden(ended[3])}`}`;
  const failed = tried.flatMap((op) => op[4].filter(([, , held]) => !held));
  if (failed.length) return values(failed);
  const refused = ops.find((op) => op[0] === "refuse");
  return refused ? values(refused[3].filter(([, , held]) => !held)) : waitsFor(track, one);
}

/** What an instance waits for: the labels of the edges that leave its state. */
function waitsFor(track, one) {
  const own = track.clauses.some(({ kind }) => kind === "partition") ? ", of its own partition" : "";
  const takes = track.edges.filter((edge) => edge.from === one.node && edge.kind === "take").map(({ label, scope }) => (scope ? `${label} ${scope}` : label));
  const joins = track.edges.filter((edge) => edge.from === one.node && edge.kind === "join")
    .flatMap(({ to }) => track.edges.filter((other) => other.to === to && other.from !== one.node).map(({ label }) => `a partner with ${label}`));
  const labels = [...takes, ...joins];
  return labels.length ? `it waits for ${labels.join(", or for ")}${own}` : "it is complete";
}
