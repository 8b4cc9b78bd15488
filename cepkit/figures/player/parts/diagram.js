// ---------------------------------------------------------------- diagram

const RADIUS = 18;
const DOT = 4.6;
const PITCH = 11.5;
const LOOP = 34;
const MOST_LINES = 5;
const MOST_STATES = 24;
/** The width of a count beside an edge. */
const COUNT = 34;
const MOST_NAME = 18;
const PARTING = 46;
const ZOOMS = [0.25, 0.35, 0.5, 0.7, 1, 1.4, 2];

/** What stands in a node; one that several patterns use says how many. */
function nodeName(node) {
  const shared = (node.patterns?.length ?? 0) > 1 && node.kind !== "leaf" ? ` ×${node.patterns.length}` : "";
  return `${cut(node.label, MOST_NAME)}${shared}`;
}

/** What is told of a node. */
function nodeTold(node) {
  const used = node.patterns?.length ? `used by ${node.patterns.join(", ")}` : "";
  const ends = node.ends?.length ? `finds ${node.ends.join(", ")}` : "";
  const kept = node.window ? `keeps for ${node.window}` : "";
  return [[node.label, ...(node.variables ?? [])].join(" "), ends, used, kept].filter(Boolean).join("\n");
}

/**
 * What of a diagram is drawn: everything, or of a tree NFA with very many states those that the
 * trace visits, moved together. States are named by what they took, so that each has one parent.
 */
function drawn(track) {
  const { nodes, edges } = track;
  if (track.kind !== "tree-nfa" || nodes.length <= MOST_STATES) return { nodes, edges };
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
    Object.assign(this, { track, choose, width: 0, zoom: 1 });
    const { name } = track.trace;
    this.element = h("div", { class: "diagram", role: "region", tabindex: 0, "aria-label": `diagram of ${name}` });
    const button = (icon_, text, action) => h("button", { type: "button", "aria-label": `${text}: ${name}`, title: text, "data-zoom": icon_, onclick: action }, icon(icon_));
    this.controls = h("span", { class: "zoom", role: "group", "aria-label": `size of the diagram of ${name}` },
      button("smaller", "Smaller", () => this.scale(-1)), button("larger", "Larger", () => this.scale(1)),
      button("whole", "As large as fits", () => this.scale(0)));
    // With Ctrl, as elsewhere: without it a wheel scrolls the page.
    this.element.addEventListener("wheel", (turned) => {
      if (!turned.ctrlKey) return;
      turned.preventDefault();
      this.scale(turned.deltaY < 0 ? 1 : -1);
    }, { passive: false });
    this.chain = track.kind === "chain";
    // Of several patterns: edges part from one state.
    this.forest = track.trace.diagram.kind === "forest";
    // In a tree edges come up from below, so that tokens stand above their node.
    this.side = track.kind === "tree" ? -1 : 1;
    // A tree NFA has many states and needs few words: what a state stores is what it has not taken.
    this.dense = track.kind === "tree-nfa";
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
    const step = nearest(nodes, this.dense || this.forest);
    const widest = Math.max(...nodes.map((node) => this.half(node)), 36);
    const margin = Math.max(42, widest + 6);
    const least = 76 / step.x;
    const most = (this.forest ? 270 : this.chain ? 210 : 130) / step.x;
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
    return Math.max(this.radius, (nodeName(node).length * 7.6 + (this.dense ? 8 : 14)) / 2);
  }

  draw(size) {
    const { nodes, edges } = this;
    const { trace } = this.track;
    const lines = s("g", {});
    const texts = s("g", {});
    this.edgeViews = new Map();
    this.lines = edges.filter((edge) => edge.from !== edge.to).map((edge) => this.ends(edge));
    this.boxes = nodes.flatMap((node) => this.taken(node));
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
    Object.assign(this, { svg, size });
    this.element.replaceChildren(svg);
    this.sized();
  }

  /** Larger (1) or smaller (-1) by a step; 0: so that all of it is seen. The middle stays where it is. */
  scale(by) {
    const { element, size, zoom } = this;
    if (!size) return;
    const whole = Math.min(1, element.clientWidth / size.x);
    this.zoom = by > 0 ? ZOOMS.find((each) => each > zoom + 0.01) ?? zoom
      : by < 0 ? ZOOMS.findLast((each) => each < zoom - 0.01) ?? zoom : whole;
    const ratio = this.zoom / zoom;
    const left = (element.scrollLeft + element.clientWidth / 2) * ratio - element.clientWidth / 2;
    const top = (element.scrollTop + element.clientHeight / 2) * ratio - element.clientHeight / 2;
    this.sized();
    element.scrollTo(left, top);
  }

  sized() {
    const { svg, size, zoom } = this;
    svg.setAttribute("width", size.x * zoom);
    svg.setAttribute("height", size.y * zoom);
    this.element.dataset.zoom = zoom.toFixed(2);
  }

  /** Where an edge begins and ends. */
  ends(edge) {
    const [from, to] = [this.place.get(edge.from), this.place.get(edge.to)];
    const [a, b] = [this.half(this.node_(edge.from)), this.half(this.node_(edge.to))];
    if (this.forest) return [from.x + a + 1, from.y, to.x - b - 1, to.y];
    return [...border(from, to, a, this.radius), ...border(to, from, b, this.radius)];
  }

  /** What a state takes for itself and its tokens, as boxes. */
  taken(node) {
    const { x, y } = this.place.get(node.id);
    const [half, foot] = [this.half(node) + 2, y + this.radius];
    const tokens = node.kind === "start" ? [x - 50, foot + 2, x + 14, foot + 18] : [x - 14, foot + 2, x + 50, foot + 18];
    return [[x - half, y - this.radius - 2, x + half, foot + 2], tokens];
  }

  edge(edge, lines, texts) {
    const tree = this.track.kind === "tree";
    const [x1, y1, x2, y2] = this.ends(edge);
    const line = y1 === y2 || !this.forest ? arrow(x1, y1, x2, y2, `edge ${edge.kind}`) : branching(x1, y1, x2, y2, `edge ${edge.kind}`);
    const told = [`${edge.kind} ${edge.label}`, edge.scope, ...(edge.conditions ?? [])].filter(Boolean).join("\n");
    line.append(s("title", {}, told));
    lines.append(line);
    // Where edges part, what they say stands behind the place where they do.
    const parting = this.forest && this.edges.some((other) => other !== edge && other.from === edge.from && other.to !== other.from);
    const begin = x1 + (parting ? PARTING : 0);
    const middle = this.forest ? { x: (begin + x2) / 2, y: y2 } : { x: (x1 + x2) / 2, y: (y1 + y2) / 2 };
    const room = Math.max(40, this.forest ? x2 - begin - 8 : Math.hypot(x2 - x1, y2 - y1) - 8);
    const group = s("g", { class: "edge-text" });
    let below = 0;

    let { x } = middle;
    if (this.chain) {
      // Loops of the states at both ends lean over the edge. Where they leave no room, conditions are
      // told when the pointer is there; the name then stands below.
      const [left, right] = [this.reach(edge.from), this.reach(edge.to)];
      const free = room + 8 - left - right;
      const name = widthIn(edge.label, 11.5, 700) <= room + 4 ? edge.label : fitted(variableOf(edge.label), room, 12.5);
      if (widthIn(name, 11.5, 700) > free) below = 23;
      else x += (left - right) / 2;
      const texts = [edge.scope, ...(edge.conditions ?? [])].filter(Boolean).flatMap((text) => wrapped(text, free - 4, 10));
      // What loops say stands above three lines.
      const lines = this.looped(edge.from) || this.looped(edge.to) ? 3 : MOST_LINES;
      const crowded = below || free < 56 || (free < 90 && texts.length > lines);
      const shown = crowded ? [] : texts.length > lines ? [...texts.slice(0, lines - 1), "…"] : texts;
      const rows = [[name, "name"], ...shown.map((text) => [text, "small"])];
      rows.forEach(([text, kind], i) => {
        group.append(label(x, middle.y - 8 + below - (rows.length - 1 - i) * 11.5, text, kind, told));
      });
    }
    texts.append(group);
    // The two edges into a join are one: what came of it is said below the join.
    if (tree) return { line, count: null };
    let spot = { x: middle.x, y: middle.y + 15 + below / 2 };
    if (!this.chain) {
      // Edges cross: what is said of one stands where it lies on no other.
      spot = beside([x1, y1, x2, y2], COUNT, 13, this.lines, this.boxes);
      this.boxes.push(spot.box);
      spot.y += 4;
    }
    const count = label(spot.x, spot.y, "", "count", told);
    group.append(count);
    return { line, count, room: this.chain ? room : COUNT };
  }

  /** How far the loops of a node reach beyond it on each side, just above its edges. */
  reach(id) {
    const kinds = new Set(this.edges.filter((edge) => edge.from === id && edge.to === id).map((edge) => edge.kind));
    return this.forest || this.side < 0 || kinds.size < 2 ? 0 : (this.radius + LOOP) * 0.9 - this.radius;
  }

  looped(id) {
    return this.edges.some((edge) => edge.from === id && edge.to === id);
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
      const told = [`${kind} ${names}`, ...of.flatMap((edge) => edge.conditions ?? [])].join("\n");
      const away = kinds.length > 2 ? 18 : 5;
      // Half of the way to the next state belongs to this one.
      const half = this.dx / 2 - 5;
      const room = lean ? Math.min(half, lean < 0 ? x : Infinity) - away : kinds.length > 2 ? 2 * away - 6 : 2 * Math.min(half, x);
      const heights = up > 0 ? [far + 18, far + 7] : [-far - 8, -far - 19];
      // Beside the first and the last state there is less room.
      const fits = widthIn(names, 10) <= Math.min(room, 90);
      const variables = kind === "take" ? labels.map(variableOf) : labels.flatMap(variablesOf);
      const short = fits ? names : variables.join(", ");
      // Where states stand so near that words of neighbours would meet, hovering tells them.
      const words = widthIn(kind, 10) <= room ? [kind, fitted(short, Math.min(room, 130), 10)] : [];
      for (const [i, text] of words.entries()) {
        const shown = label(x + away * Math.sign(lean), y - heights[i], text, "small", told);
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
    const shared = (node.patterns?.length ?? 0) > 1 ? " shared" : "";
    const group = s("g", { class: `node ${node.kind}${shared}` }, shape(0),
      node.kind === "final" ? shape(-4) : null,
      s("text", { x, y: y + 4.5 }, nodeName(node)),
      s("title", {}, nodeTold(node)), tokens);
    return { group, tokens };
  }

  show(p, alive, chosen, picked) {
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
    const matches = track.matchesAt.get(p) ?? [];
    for (const node of this.nodes) {
      const { group, tokens } = this.nodeViews.get(node.id);
      const i = track.nodeAt.get(node.id);
      group.classList.toggle("unvisited", track.visited[i] > p);
      group.classList.toggle("chosen", path.has(node.id));
      group.classList.toggle("matched", node.kind === "final" && matches.some((match) => endsAt(node, match)));
      tokens.replaceChildren(...this.tokens(node, alive[i], p, (id) => id === chosen || picked.has(id), track), ...this.joined(node, fired));
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

  tokens(node, instances, p, marked, track) {
    const { x, y } = this.place.get(node.id);
    let text = "";
    if (node.kind === "final") {
      const n = node.ends ? track.matchesOf(node, p) : track.counter("matches", p);
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
        class: `token${one.born === p && p ? " new" : ""}${marked(one.id) ? " chosen" : ""}`,
        "data-instance": one.id, onclick: () => this.choose(one.id),
      }, s("title", {}, `instance ${one.id}: ${track.bindingText(one.id)}`),
      s("circle", { cx, cy, r: DOT + 3, class: "reach" }), s("circle", { cx, cy, r: DOT, fill: colour }));
    });
    if (this.dense) {
      // Edges part from a start to the right; elsewhere they come from the left.
      const side = node.kind === "start" ? -1 : 1;
      const tally = label(x + side * ((perRow * PITCH) / 2 + 4), y + this.radius + 14, text, "tally");
      tally.classList.add(side < 0 ? "ends" : "begins");
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
  const stores = track.edges.filter((edge) => edge.kind === "store").map((edge) => [edge, new Set(variablesOf(edge.label))]);
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
      for (const [edge, variables] of stores) {
        if (variables.has(op[2]) && alive[track.nodeAt.get(edge.from)].length) at(edge.id).taken = true;
      }
    }
  }
  return fired;
}
