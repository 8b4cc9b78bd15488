// ---------------------------------------------------------------- charts

/** One counter over the steps, a line for each trace; a click goes there. */
class Chart {
  constructor(name, title, tracks, total, seek) {
    Object.assign(this, { name, tracks, total });
    const columns = tracks.map((track) => (track.trace.counters[name] ?? []).map(Number));
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
      h("span", { class: "most" }, big(this.most)));
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
      h("span", {}, lineSample(track.number), h("b", {}, big(track.counter(this.name, p))))));
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

