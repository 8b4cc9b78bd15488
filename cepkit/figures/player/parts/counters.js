// ---------------------------------------------------------------- the trace of prefix counters

const COUNTED = [["matches", "live matches"], ["rows", "rows of counters"], ["saved", "rows of snapshots"], ["updates", "updates so far"]];
const MOST_TERMS = 8;
const MOST_STARTS = 20;
const MOST_SAVED = 5;

const chopped = (tracks) => tracks.some((track) => track.pieces.length > 1);
const countersOf = (tracks) => COUNTED.filter(([name]) => name !== "saved" || chopped(tracks));

/** A length of time, as short as it can be said. */
function spanText(microseconds) {
  const seconds = Math.max(0, microseconds) / 1e6;
  if (seconds < 120) return `${Number(seconds.toFixed(seconds < 10 ? 3 : 1))} s`;
  const units = seconds < 7200 ? [[60, "min"], [1, "s"]] : seconds < 172800 ? [[3600, "h"], [60, "min"]] : [[86400, "d"], [3600, "h"]];
  const [[large, name], [small, less]] = units;
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)} ${name}${rest ? ` ${rest} ${less}` : ""}`;
}

/** "a, b and 3 more": of many things the first few. */
function listed(texts, most = MOST_TOLD) {
  if (texts.length <= most) return texts.join(", ");
  return `${texts.slice(0, most).join(", ")} and ${(texts.length - most).toLocaleString("en")} more`;
}

/** A trace of counters, indexed: a row is an interval of positions, a counter a list of changes. */
class CounterTrack extends Recording {
  constructor(trace, number, tape) {
    super(trace, number, tape);
    Object.assign(this, { pieces: trace.pieces, keyed: trace.keys.some(Boolean) });
    this.variables = trace.pieces.flat();
    this.rows = new Map();
    this.ofPiece = this.pieces.map(() => []);
    trace.steps.forEach((step, i) => step.forEach((op) => this.read(op, i + 1)));
    this.matchPositions = trace.matches.map((match) => match.step + 1);
  }

  read([name, id, ...rest], at) {
    const row = this.rows.get(id);
    if (name === "open") {
      const [key, piece, event, expires] = rest;
      const text = event === null ? "all" : this.tape.name[event];
      const cells = this.pieces[piece].map(() => []);
      const opened = { id, key, piece, event, expires, name: text, born: at, died: NEVER, cells, saved: [] };
      this.rows.set(id, opened);
      this.ofPiece[piece].push(opened);
    } else if (name === "close") row.died = at;
    else if (name === "add") row.cells[rest[0]].push({ at, before: BigInt(rest[1]), added: BigInt(rest[2]) });
    else if (name === "clear") row.cells[rest[0]].push({ at, before: BigInt(rest[1]), added: -BigInt(rest[1]) });
    else if (name === "save") row.saved.push({ of: this.rows.get(rest[0]), count: BigInt(rest[1]), died: NEVER });
    else if (name === "drop") row.saved.find((one) => one.of.id === rest[0]).died = at;
  }

  chosable() {
    return [...this.rows.values()];
  }

  /** What tells a row apart however the sequence is cut: its key and its START. */
  named(id) {
    const { key, event, name } = this.rows.get(id);
    return JSON.stringify([this.trace.keys[key], event === null ? name : this.tape.id[event]]);
  }

  moment(p) {
    return this.tape.moments[p - 1];
  }

  action(p) {
    return this.trace.actions[p - 1];
  }

  *marks(p) {
    const { position } = this.moment(p) ?? {};
    const action = this.action(p);
    if (action === "expire") yield ["window", "kind", "failed"];
    else if (action === "end") for (const variable of this.absent(position)) yield [variable, "variable", "failed"];
    else if (position) yield [this.variables[position - 1], "variable", "held"];
  }

  /** The variables that must not be there after a position. */
  absent(position) {
    return this.trace.absent.filter(([after]) => after === position).map(([, variable]) => variable);
  }

  /** In which piece a position is, and where in it. */
  place(position) {
    let first = 0;
    for (let piece = 0; piece < this.pieces.length; piece++) {
      if (position <= first + this.pieces[piece].length) return [piece, position - 1 - first, first];
      first += this.pieces[piece].length;
    }
    return [0, 0, 0];
  }

  /** Rows at a position, oldest first; with those that end there, if asked for. */
  alive(p, piece, ended = false) {
    return this.ofPiece[piece].filter((row) => row.born <= p && (row.died > p || (ended && row.died === p)));
  }

  /** The last change of a counter up to a position. */
  change(row, place, p) {
    const changes = row.cells[place];
    let [from, to] = [0, changes.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (changes[middle].at <= p) from = middle + 1;
      else to = middle;
    }
    return changes[from - 1];
  }

  value(row, place, p) {
    const last = this.change(row, place, p);
    return last ? last.before + last.added : 0n;
  }

  last(row, p) {
    return this.value(row, row.cells.length - 1, p);
  }

  /** The rows of a snapshot that are live at a position; with those that end there, if asked for. */
  snapshot(row, p, ended = false) {
    return row.saved.filter((one) => one.died > p || (ended && one.died === p));
  }

  /** What the live matches are the sum of: for each row of the last piece what it adds. */
  terms(p) {
    return this.alive(p, this.pieces.length - 1).map((row) => {
      const before = row.piece ? this.snapshot(row, p).map((one) => one.count) : null;
      const last = this.last(row, p);
      return { row, before, last, product: before ? last * before.reduce((a, b) => a + b, 0n) : last };
    });
  }

  /** "a1 2 + a2 0 = 2"; of many rows those that add something, and the first of them. */
  sumText(p) {
    const terms = this.terms(p);
    const total = big(this.counter("matches", p));
    const told = terms.length > MOST_TERMS / 2 ? terms.filter(({ product }) => product) : terms;
    const texts = told.slice(0, MOST_TERMS).map(({ row, before, last }) => {
      const name = this.pieces.length === 1 && row.event === null ? "" : `${row.name} `;
      if (!before) return `${name}${big(last)}`;
      const sum = before.length > MOST_TERMS ? big(before.reduce((a, b) => a + b, 0n)) : before.map(big).join(" + ") || "0";
      return `${name}${before.length > 1 ? `(${sum})` : sum} × ${big(last)}`;
    });
    if (told.length > MOST_TERMS) texts.push("…");
    return texts.length > 1 || (texts.length && texts[0] !== total) ? `${texts.join(" + ")} = ${total}` : total;
  }

  /** "2 + 1 = 3", or "2 → 0" where an absence or nothing was added. */
  changeText({ before, added }) {
    return added < 0n ? `${big(before)} → ${big(before + added)}` : `${big(before)} + ${big(added)} = ${big(before + added)}`;
  }

  prefix(piece, place) {
    return this.pieces[piece].slice(0, place + 1).join(" ");
  }

  ofKey(key) {
    return this.keyed && key !== null ? ` of ${this.trace.keys[key]}` : "";
  }

  /** What a step does, in plain words. */
  told(p) {
    const { event, position, trigger } = this.moment(p);
    const action = this.action(p);
    const ops = this.ops(p);
    const parts = [];
    if (action === "nothing") return [event === null ? "no row expires here" : "no place in the pattern takes it, and nothing changes"];
    if (action === "expire") parts.push(...this.toldExpiry(p, ops));
    else if (action === "start") parts.push(this.toldStart(p, position, ops));
    else if (action === "extend") parts.push(this.toldExtension(p, position, ops));
    else parts.push(this.toldEnd(p, position, ops));
    const now = this.counter("matches", p);
    if (trigger) parts.push(`live matches: ${this.sumText(p)}, ${big(this.counter("new", p))} new`);
    else if (big(now) !== big(this.counter("matches", p - 1))) parts.push(`live matches: ${big(this.counter("matches", p - 1))} → ${big(now)}`);
    return parts;
  }

  toldStart(p, position, ops) {
    const [piece] = this.place(position);
    const opened = this.rows.get(ops.find(([name]) => name === "open")?.[1]);
    if (!opened || opened.event === null) {
      const [, id, place] = ops.find(([name]) => name === "add") ?? [];
      const row = this.rows.get(id);
      return row ? `it starts: one more ${this.prefix(0, 0)}${this.ofKey(row.key)}, ${this.changeText(this.change(row, place, p))}` : "nothing changes";
    }
    const left = opened.expires === null ? "" : `, live for ${spanText(opened.expires - this.moment(p).time)}`;
    if (!piece) return `it starts: a row of its own${this.ofKey(opened.key)}${left}, with one ${this.prefix(0, 0)}`;
    const before = this.prefix(piece - 1, this.pieces[piece - 1].length - 1);
    const saved = listed(opened.saved.map((one) => `${one.of.name} ${big(one.count)}`), MOST_TERMS);
    return `it starts the piece ${this.pieces[piece].join(" ")}: its row${this.ofKey(opened.key)}${left && `${left},`} keeps a snapshot of how many `
      + `${piece > 1 ? `matches up to ${before}` : before} there are now, by START (${saved || "none"})`;
  }

  toldExtension(p, position, ops) {
    const [piece, place] = this.place(position);
    if (!place) return "there can be no match, so that nothing is counted";
    const [from, to] = [this.prefix(piece, place - 1), this.prefix(piece, place)];
    const changed = ops.filter(([name]) => name === "add").map(([, id]) => this.rows.get(id));
    const every = this.windowless(piece)
      ? `the count of ${from} is added to that of ${to}${this.ofKey(this.moment(p).key)}`
      : `every live START${piece ? ` of the piece ${this.pieces[piece].join(" ")}` : ""}${this.ofKey(this.moment(p).key)} adds its count of ${from} to that of ${to}`;
    const result = changed.map((row) => `${row.event === null ? "" : `${row.name} `}${this.changeText(this.change(row, place, p))}`);
    return `it extends: ${every}${result.length ? ` (${listed(result)})` : `, but there is no ${from} to add`}`;
  }

  windowless(piece) {
    return this.trace.window === null && piece === 0;
  }

  toldEnd(p, position, ops) {
    const [piece, place] = this.place(position);
    const cleared = ops.filter(([name]) => name === "clear").map(([, id]) => this.rows.get(id));
    const next = this.variables[position];
    const result = cleared.map((row) => `${row.event === null ? "" : `${row.name} `}${this.changeText(this.change(row, place, p))}`);
    return `no ${this.absent(position).join(" and no ")} may come between ${this.variables[position - 1]} and ${next}: `
      + `${this.windowless(piece) ? "the" : `every live START${this.ofKey(this.moment(p).key)} sets its`} count of ${this.prefix(piece, place)} ${this.windowless(piece) ? "is set " : ""}to 0`
      + (result.length ? ` (${listed(result)})` : ", which it is already");
  }

  toldExpiry(p, ops) {
    const closed = ops.filter(([name]) => name === "close").map(([, id]) => this.rows.get(id));
    const holders = [...new Set(ops.filter(([name]) => name === "drop").map(([, id]) => this.rows.get(id).name))];
    const rows = closed.length === 1 ? "its row goes" : `their ${closed.length} rows go`;
    return [holders.length ? `${rows}, and what the ${holders.length === 1 ? "snapshot" : "snapshots"} of ${listed(holders)} had of ${closed.length === 1 ? "it" : "them"}` : rows];
  }
}

// ---------------------------------------------------------------- the card of counters

/** Scrolls to the first of some rows if none is to be seen: once, when the page is drawn anyway. */
function reveal(body, rows) {
  if (!rows.length) return;
  requestAnimationFrame(() => {
    const [from, to] = [body.scrollTop, body.scrollTop + body.clientHeight];
    const seen = ({ offsetTop, offsetHeight }) => offsetTop >= from && offsetTop + offsetHeight <= to;
    if (!rows.some(seen)) body.scrollTop = rows[0].offsetTop - 30;
  });
}

/** One trace of counters: a table for each piece, a row for each live START, the sum of matches. */
class CounterCard {
  constructor(track, tell) {
    Object.assign(this, { track, tell, chosen: null });
    const { name } = track.trace;
    this.facts = h("dl", { class: "facts" });
    this.tables = track.pieces.map((piece, n) => {
      const body = h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `${this.title(n)}: ${name}` });
      const count = document.createTextNode("");
      return { body, count, element: h("div", { class: "piece", "data-piece": n }, h("h4", {}, this.title(n), " ", h("span", { class: "soft" }, count)), body) };
    });
    this.total = h("p", { class: "total" });
    this.history = h("div", { class: "lineage", role: "status" });
    this.element = h("section", { class: "card counted", "aria-label": name },
      h("h3", {}, lineSample(track.number), name), this.facts,
      h("div", { class: "pieces" }, ...this.tables.map((table) => table.element)), this.total, this.history);
  }

  title(piece) {
    const { pieces } = this.track;
    return pieces.length === 1 ? `Counters of ${pieces[0].join(" ")}` : `Piece ${piece + 1}: ${pieces[piece].join(" ")}`;
  }

  fit() {}

  badges() {
    return new Map();
  }

  choose(id) {
    this.tell(this, id);
  }

  show(p, seek) {
    const names = ["matches", "new", "rows", ...(this.track.pieces.length > 1 ? ["saved"] : []), "updates"];
    const titles = new Map([...COUNTED, ["new", "new"]]);
    this.facts.replaceChildren(...names.map((name) =>
      h("div", {}, h("dt", {}, titles.get(name)), h("dd", { "data-counter": name }, big(this.track.counter(name, p))))));
    this.tables.forEach((table, piece) => this.showPiece(table, piece, p));
    this.showTotal(p);
    this.showHistory(p, seek);
  }

  showPiece({ body, count }, piece, p) {
    const { track } = this;
    const live = track.alive(p, piece);
    count.data = live.length ? counted(live.length, "row") : "";
    const { key } = track.moment(p) ?? {};
    const mine = (row) => row.key === key;
    const shown = this.some(track.alive(p, piece, true), p).sort((a, b) => mine(b) - mine(a) || a.id - b.id);
    const scene = this.scene(piece, p);
    const rows = shown.map((row) => this.row(row, p, scene));
    const left = live.length - shown.filter((row) => row.died > p).length;
    const none = h("p", { class: "rest" }, p ? "no live START" : "no START yet");
    body.replaceChildren(rows.length ? h("table", { class: "counts", "aria-label": `counters of ${track.pieces[piece].join(" ")}` }, h("thead", {}, this.head(piece, scene)), h("tbody", {}, ...rows)) : none,
      ...(left ? [h("p", { class: "rest" }, `and ${counted(left, "row")} more`)] : []));
    reveal(body, rows.filter((_, i) => this.touched(shown[i], p)));
  }

  /** Which rows there is room for: what changes comes first, then what is new. */
  some(rows, p) {
    if (rows.length <= MOST_STARTS) return rows;
    const { key } = this.track.moment(p) ?? {};
    const rank = (row) => 2 * (row.id === this.chosen || this.touched(row, p)) + (row.key === key);
    return [...rows].sort((a, b) => rank(b) - rank(a) || b.id - a.id).slice(0, MOST_STARTS);
  }

  touched(row, p) {
    return row.born === p || row.died === p || row.cells.some((_, place) => this.track.change(row, place, p)?.at === p);
  }

  /** Where in this piece something happens: the counter that is read, and the one that is written. */
  scene(piece, p) {
    const { position } = this.track.moment(p) ?? {};
    const action = this.track.action(p);
    if (!position || action === "nothing") return {};
    const [at, place] = this.track.place(position);
    // The START of the next piece reads the last counter of this one.
    if (action === "start" && at === piece + 1) return { read: this.track.pieces[piece].length - 1, reader: p };
    if (at !== piece) return {};
    return { write: place, read: action === "extend" ? place - 1 : null, ends: action === "end" };
  }

  head(piece, { read, write }) {
    const { track } = this;
    const first = track.pieces.slice(0, piece).flat().length;
    const long = track.pieces[piece].join(" ").length > 14;
    const cells = [
      track.keyed ? h("th", { scope: "col" }, "key") : null,
      h("th", { scope: "col" }, "START"),
      track.trace.window === null ? null : h("th", { scope: "col", title: "how long it is live" }, "left"),
      piece ? h("th", { scope: "col", title: "matches before it, by the START of the whole" }, "before it") : null,
    ];
    track.pieces[piece].forEach((variable, place) => {
      const word = place === write ? "written" : place === read ? "read" : null;
      const before = track.pieces[piece].slice(0, place).join(" ");
      cells.push(h("th", { scope: "col", class: word, title: `matches of ${track.prefix(piece, place)}` },
        place ? `${long ? "…" : before} ` : "", h("b", {}, variable)));
      for (const name of track.absent(first + place + 1)) {
        cells.push(h("th", { scope: "col", class: "absent", title: `no ${name} may come here: it sets the count before it to 0` }, `¬${name}`));
      }
    });
    return h("tr", {}, ...cells);
  }

  row(row, p, scene) {
    const { track } = this;
    const gone = row.died === p;
    const fresh = row.born === p;
    const { time } = track.moment(p);
    const mine = row.key === track.moment(p).key;
    const key = track.keyed ? h("td", { class: mine ? "mine" : "soft" }, track.trace.keys[row.key]) : null;
    const first = track.pieces.slice(0, row.piece).flat().length;
    const cells = row.cells.flatMap((_, place) => [
      this.cell(row, place, p, scene),
      ...track.absent(first + place + 1).map(() => {
        const ends = scene.ends && place === scene.write && mine;
        return h("td", { class: "absent" }, ends ? h("b", {}, "✗") : "");
      }),
    ]);
    return h("tr", {
      class: `${gone ? "gone" : fresh ? "new" : ""}${row.id === this.chosen ? " chosen" : ""}`, "data-row": row.name, "data-key": row.key,
    }, key, h("td", {}, this.start(row), fresh ? h("span", { class: "soft" }, " new") : null),
    track.trace.window === null ? null : h("td", { class: "left" }, row.expires === null ? "" : gone ? "expired" : spanText(row.expires - time)),
    row.piece ? h("td", { class: "saved" }, this.snapshot(row, p)) : null, ...cells);
  }

  cell(row, place, p, { read, write, reader }) {
    const { track } = this;
    const change = track.change(row, place, p);
    const now = change?.at === p && row.died !== p ? change : null;
    const value = track.value(row, place, p);
    const next = place + 1 < row.cells.length && track.change(row, place + 1, p)?.at === p;
    // What was read is told apart where it counts: in rows that changed, and by a snapshot.
    const source = place === read && value && row.died > p && (reader ? row.key === track.moment(p).key : write === place + 1 && next);
    const shown = now && row.born !== p
      ? [h("span", { class: "sum" }, now.added < 0n ? `${big(now.before)} → ` : `${big(now.before)} + ${big(now.added)} = `), h("b", {}, big(value))]
      : [now ? h("b", {}, big(value)) : big(value)];
    return h("td", {
      class: `number${now ? " changed" : source ? " source" : ""}${value ? "" : " zero"}`, "data-place": place,
      title: value > 999999999999999n ? String(value) : null,
    }, ...shown);
  }

  start(row) {
    const { track } = this;
    const hue = row.event === null ? "var(--soft)" : track.tape.colour(row.event);
    return h("button", {
      type: "button", class: `link start${row.id === this.chosen ? " chosen" : ""}`, "aria-pressed": String(row.id === this.chosen),
      title: row.event === null ? "without a window one row serves all" : track.tape.told(row.event), onclick: () => this.choose(row.id),
    }, h("span", { class: "chip", style: `--hue:${hue}` }, row.name));
  }

  /** What a later piece's START keeps of the pieces before it: a table in its own right. */
  snapshot(row, p) {
    const { track } = this;
    const entries = track.snapshot(row, p, row.died > p);
    if (!entries.length) return h("span", { class: "rest" }, "nothing");
    const { time } = track.moment(p);
    const shown = entries.slice(-MOST_SAVED);
    const rows = shown.map((one) => h("tr", { class: one.died === p ? "gone" : row.born === p ? "new" : "", "data-saved": one.of.name },
      h("td", {}, one.of.name), one.of.expires === null ? null : h("td", { class: "left" }, one.died === p ? "expired" : spanText(one.of.expires - time)),
      h("td", { class: "number" }, this.origin(row, one, p), big(one.count))));
    const more = entries.length - shown.length;
    return [h("table", { class: "snapshot", "aria-label": `snapshot of ${row.name}` }, h("tbody", {}, ...rows)), more ? h("p", { class: "rest" }, `and ${more} older`) : ""];
  }

  /** How a row of a snapshot came about, in the step that made it: of one piece before it is a copy. */
  origin(row, { of }, p) {
    if (row.born !== p || row.piece < 2) return "";
    const { track } = this;
    const terms = track.alive(p, row.piece - 1).filter((other) => other.key === row.key).flatMap((other) => {
      const saved = track.snapshot(other, p).find((one) => one.of === of);
      return saved ? [`${big(saved.count)} × ${big(track.last(other, p))}`] : [];
    });
    const shown = terms.length > MOST_TOLD ? [...terms.slice(0, MOST_TOLD), "…"] : terms;
    return h("span", { class: "sum" }, `${shown.join(" + ")} = `);
  }

  showTotal(p) {
    const { track } = this;
    const trigger = track.moment(p)?.trigger;
    const fresh = track.counter("new", p);
    this.total.classList.toggle("out", Boolean(trigger));
    this.total.replaceChildren(h("span", {}, trigger ? "Output: live matches " : "Live matches "), h("b", { "data-total": "" }, p ? track.sumText(p) : "0"),
      trigger ? h("span", {}, `, ${big(fresh)} new`) : "");
  }

  /** How the numbers of the chosen row arose. */
  showHistory(p, seek) {
    const { track } = this;
    const row = this.chosen === null ? undefined : track.rows.get(this.chosen);
    this.history.hidden = !row;
    if (!row) return this.history.replaceChildren();
    const jump = (at) => stepLink(at, seek);
    const changes = row.cells.flatMap((cell, place) => cell.map((one) => ({ ...one, place }))).sort((a, b) => a.at - b.at || a.place - b.place);
    const told = changes.slice(0, 4 * MOST_ROWS);
    const items = told.map((one) => h("li", { class: one.at > p ? "soft" : "" }, jump(one.at), `, ${track.moment(one.at).name}: ${track.prefix(row.piece, one.place)} `,
      h("b", {}, track.changeText(one))));
    const end = row.died === NEVER ? "It is live at the end of what is shown." : ["It expires in ", jump(row.died), "."];
    const title = `${row.event === null ? "The row of all" : row.name}${track.ofKey(row.key)}`;
    this.history.replaceChildren(chosenHead(title, row, p, () => this.choose(row.id)),
    h("ol", {}, ...items), ...(changes.length > told.length ? [h("p", { class: "rest" }, `and ${counted(changes.length - told.length, "change")} more`)] : []), h("p", {}, end));
  }
}
