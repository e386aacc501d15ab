// Pictures of figures, in SVG. Colours come from the style sheet, by the class of each series.

const space = "http://www.w3.org/2000/svg";

function shape(name, series, attributes) {
  const element = document.createElementNS(space, name);
  element.setAttribute("class", `of-${series}`);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// bar shows parts of a whole side by side. What is below zero has no width.
export function bar(svg, parts, whole, label) {
  svg.setAttribute("viewBox", "0 0 1000 10");
  svg.setAttribute("aria-label", label);
  let x = 0;
  svg.replaceChildren(...Object.entries(parts).map(([series, units]) => {
    const width = whole > 0 ? 1000 * Math.max(0, units) / whole : 0;
    const rect = shape("rect", series, { x, y: 0, width, height: 10 });
    x += width;
    return rect;
  }));
}

// stack shows series over time, one upon the other, and returns the highest sum. points are
// {at, values}, oldest first; a gap between two is a straight line.
export function stack(svg, points, series, label) {
  svg.setAttribute("viewBox", "0 0 1000 100");
  svg.setAttribute("aria-label", label);
  const last = points.at(-1)?.at ?? 0;
  const span = Math.max(30_000, last - (points[0]?.at ?? 0)); // the first seconds are not stretched
  const x = (point) => (1000 * (1 - (last - point.at) / span)).toFixed(1);
  const sums = points.map(() => 0);
  const top = Math.max(0, ...points.map(({ values }) => series.reduce((sum, name) => sum + (values[name] ?? 0), 0)));
  const y = (sum) => (100 - (top > 0 ? 92 * sum / top : 0)).toFixed(2);
  svg.replaceChildren(...(points.length < 2 || top === 0 ? [] : series.map((name) => {
    const low = points.map((point, i) => `${x(point)} ${y(sums[i])}`);
    points.forEach(({ values }, i) => { sums[i] += values[name] ?? 0; });
    const high = points.map((point, i) => `${x(point)} ${y(sums[i])}`);
    return shape("path", name, { d: `M${high.join("L")}L${low.reverse().join("L")}Z` });
  })));
  return top;
}

// A History is what was seen in the last seconds.
export class History {
  points = [];

  constructor(seconds) { this.seconds = seconds; }

  add(at, values) {
    this.points.push({ at, values });
    while (this.points[0].at < at - 1000 * this.seconds) this.points.shift();
    return this.points;
  }
}

// rates are what was counted per second between two looks. A count that went back is another
// server's.
export function rates(before, now) {
  const seconds = (now.at - before.at) / 1000;
  return Object.fromEntries(Object.entries(now.values).map(([name, count]) => {
    const more = count - (before.values[name] ?? 0);
    return [name, seconds > 0 && more > 0 ? more / seconds : 0];
  }));
}
