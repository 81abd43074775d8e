// Plain charts: one SVG per metric, drawn from thinned points. Gaps where a value is not finite; the nearest point on hover.

import { make, number } from "/studio/show.js";

const WIDTH = 380, HEIGHT = 170, LEFT = 46, RIGHT = 10, TOP = 10, BOTTOM = 22;

/** A number for an axis: never wider than its place. */
function short(value) {
  const large = Math.abs(value);
  const unit = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]].find(([each]) => large >= each);
  return unit && large < 1e16 ? `${Number((value / (unit[0] === 1e4 ? 1e3 : unit[0])).toPrecision(4))}${unit[1]}` : number(value);
}

function svg(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Round numbers that lie within [least, most], about `count` of them. */
export function ticks(least, most, count) {
  const span = most - least || Math.abs(most) || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) || 10 * power;
  const found = [];
  for (let at = Math.ceil(least / step) * step; at <= most + step * 1e-9 && found.length < 50; at += step) {
    found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  }
  return found;
}

function range(values) {
  let least = Infinity, most = -Infinity;
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (least === most) return [least - (Math.abs(least) || 1) * 0.1, most + (Math.abs(most) || 1) * 0.1];
  const room = (most - least) * 0.06;
  return [least - room, most + room];
}

function path(points, x, y) {
  let text = "", gap = true;
  for (const [at, value] of points) {
    if (value === null) { gap = true; continue; }
    text += `${gap ? "M" : "L"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    gap = false;
  }
  return text;
}

/** A card with the chart of one metric; `colour` is 0 to 5. `chart` has the API's points. */
export function draw(chart, colour, last) {
  const steps = chart.steps.every((step) => step !== null) ? chart.steps : chart.indexes;
  const points = chart.values.map((value, i) => [steps[i], value]).sort((a, b) => a[0] - b[0]);
  const finite = points.filter(([, value]) => value !== null);
  const card = make("figure", { class: "chart" });
  const shown = make("b", {}, number(last));
  card.append(make("header", {}, make("span", { title: chart.name }, chart.name), shown));
  if (!finite.length) {
    card.append(make("p", { class: "note" }, "No finite value."));
    return card;
  }
  const [low, high] = range(finite.map(([, value]) => value));
  const first = points[0][0], end = points[points.length - 1][0];
  const x = (at) => LEFT + (first === end ? 0.5 : (at - first) / (end - first)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => TOP + (1 - (value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const image = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${chart.name}: ${chart.count} points` });
  for (const at of ticks(low, high, 4)) {
    image.append(svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at) }));
    image.append(svg("text", { x: LEFT - 7, y: y(at) + 3.5, "text-anchor": "end" }, short(at)));
  }
  for (const at of ticks(first, end, 5).filter(Number.isInteger)) {
    image.append(svg("text", { x: x(at), y: HEIGHT - 6, "text-anchor": "middle" }, short(at)));
  }
  image.append(svg("path", { class: `line c${colour}`, d: path(points, x, y) }));
  if (finite.length === 1) image.append(svg("circle", { class: `c${colour}`, cx: x(finite[0][0]), cy: y(finite[0][1]), r: 3.5 }));
  hover(image, finite, x, y, colour, shown, number(last));
  card.append(image);
  return card;
}

function hover(image, points, x, y, colour, shown, last) {
  const cursor = svg("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  const dot = svg("circle", { class: `c${colour}`, r: 4, visibility: "hidden" });
  image.append(cursor, dot);
  image.addEventListener("pointermove", (event) => {
    const box = image.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * WIDTH;
    let near = points[0];
    for (const point of points) if (Math.abs(x(point[0]) - at) < Math.abs(x(near[0]) - at)) near = point;
    for (const mark of [cursor, dot]) mark.setAttribute("visibility", "visible");
    cursor.setAttribute("x1", x(near[0]));
    cursor.setAttribute("x2", x(near[0]));
    dot.setAttribute("cx", x(near[0]));
    dot.setAttribute("cy", y(near[1]));
    shown.textContent = `${number(near[1])} at ${number(near[0])}`;
  });
  image.addEventListener("pointerleave", () => {
    for (const mark of [cursor, dot]) mark.setAttribute("visibility", "hidden");
    shown.textContent = last;
  });
}
