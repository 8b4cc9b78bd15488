// ---------------------------------------------------------------- shapes and texts of diagrams

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

/** An edge that parts from others at its beginning and runs straight at its end. */
function branching(x1, y1, x2, y2, kind) {
  return s("g", { class: kind },
    s("path", { class: "line", d: `M${x1},${y1} C${x1 + 34},${y1} ${x1 + 10},${y2} ${x1 + PARTING},${y2} L${x2},${y2}` }),
    s("path", { class: "head", d: headPath(x1 + PARTING, y2, x2, y2) }));
}

/** A text, cut to so many pixels. */
function fitted(text, room, size) {
  let [length, shown] = [text.length, text];
  while (length > 1 && widthIn(shown, size) > room) shown = cut(text, --length);
  return shown;
}

/** Lines of at most so many pixels, broken at spaces. */
function wrapped(text, room, size) {
  const lines = [];
  for (const word of text.split(" ")) {
    const whole = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && widthIn(whole, size) <= room) lines[lines.length - 1] = whole;
    else lines.push(fitted(word, room, size));
  }
  return lines;
}

const RULER = document.createElement("canvas").getContext("2d");

/** How many pixels a text takes. */
function widthIn(text, size, weight = 400) {
  RULER.font = `${weight} ${size}px ${FAMILY}`;
  return RULER.measureText(text).width;
}

/** Whether a line [x1, y1, x2, y2] comes into a box [left, top, right, bottom]. */
function crosses([x1, y1, x2, y2], [left, top, right, bottom]) {
  let [from, to] = [0, 1];
  for (const [begin, way, low, high] of [[x1, x2 - x1, left, right], [y1, y2 - y1, top, bottom]]) {
    if (way === 0) {
      if (begin < low || begin > high) return false;
      continue;
    }
    const [enter, leave] = [(low - begin) / way, (high - begin) / way].sort((a, b) => a - b);
    [from, to] = [Math.max(from, enter), Math.min(to, leave)];
  }
  return from <= to;
}

const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

/** Where beside a line a text of this size lies on the least: its middle, and its box. */
function beside([x1, y1, x2, y2], wide, high, lines, boxes) {
  const far = Math.hypot(x2 - x1, y2 - y1) || 1;
  const [nx, ny] = [-(y2 - y1) / far, (x2 - x1) / far];
  const away = (wide * Math.abs(nx) + high * Math.abs(ny)) / 2 + 3;
  let best = null;
  for (const more of [0, 8, 16]) {
    for (const along of [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8]) {
      for (const side of [away + more, -away - more]) {
        const [x, y] = [x1 + along * (x2 - x1) + side * nx, y1 + along * (y2 - y1) + side * ny];
        const box = [x - wide / 2, y - high / 2, x + wide / 2, y + high / 2];
        const cost = more / 16 + 2 * lines.filter((line) => crosses(line, box)).length + 3 * boxes.filter((other) => overlap(other, box)).length;
        if (best === null || cost < best.cost) best = { x, y, box, cost };
      }
    }
  }
  return best;
}

function label(x, y, text, kind, told) {
  return s("text", { x, y, class: `label ${kind}` }, told ? s("title", {}, told) : null, text);
}

