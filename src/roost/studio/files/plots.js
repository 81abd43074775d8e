// What all charts are drawn on: one SVG with its axes, lines and bars on it, and a cursor that reads off the nearest point.

import { make, number } from "/studio/show.js";

export const WIDTH = 380, HEIGHT = 170, LEFT = 46, RIGHT = 10, BOTTOM = 22;

export function svg(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** A number for an axis: never wider than its place. */
export function short(value) {
  const large = Math.abs(value);
  const unit = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]].find(([each]) => large >= each);
  return unit && large < 1e16 ? `${Number((value / (unit[0] === 1e4 ? 1e3 : unit[0])).toPrecision(4))}${unit[1]}` : number(Number(value.toPrecision(12)));
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

/** The least and the greatest value with some room around them; `floor` is a value that must be in sight. */
export function range(values, floor) {
  let least = floor ?? Infinity, most = floor ?? -Infinity;
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (least === most) return floor === undefined ? [least - (Math.abs(least) || 1) * 0.1, most + (Math.abs(most) || 1) * 0.1] : [least, most + 1];
  const room = (most - least) * 0.06;
  return [least === floor ? least : least - room, most === floor ? most : most + room];
}

/**
 * An SVG with axes: `{ image, x, y, top, bottom }`. `across` and `up` have `low` and `high`, and may have `say` (a tick in words), `fits`
 * (which ticks are shown) and `word` (what is counted).
 */
export function paper(label, across, up, height = HEIGHT) {
  const top = up.word ? 22 : 10, bottom = height - BOTTOM - (across.word ? 14 : 0);
  const x = (at) => LEFT + (across.high === across.low ? 0.5 : (at - across.low) / (across.high - across.low)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => top + (1 - (value - up.low) / (up.high - up.low)) * (bottom - top);
  const image = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": label });
  for (const at of ticks(up.low, up.high, 4)) {
    image.append(svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at) }));
    image.append(svg("text", { x: LEFT - 7, y: y(at) + 3.5, "text-anchor": "end" }, (up.say || short)(at)));
  }
  for (const at of ticks(across.low, across.high, 5).filter(across.fits || (() => true))) {
    image.append(svg("text", { x: x(at), y: bottom + 16, "text-anchor": x(at) > WIDTH - 20 ? "end" : "middle" }, (across.say || short)(at)));
  }
  if (up.word) image.append(svg("text", { class: "word", x: 4, y: 11 }, up.word));
  if (across.word) image.append(svg("text", { class: "word", x: (LEFT + WIDTH - RIGHT) / 2, y: height - 4, "text-anchor": "middle" }, across.word));
  return { image, x, y, top, bottom };
}

/** A line through points `[at, value]`, with a gap where a value is null. */
export function line(sheet, points, look) {
  let text = "", gap = true;
  for (const [at, value] of points) {
    if (value === null) { gap = true; continue; }
    text += `${gap ? "M" : "L"}${sheet.x(at).toFixed(1)} ${sheet.y(value).toFixed(1)}`;
    gap = false;
  }
  sheet.image.append(svg("path", { class: `line ${look}`, d: text }));
}

/** Bars from zero: `{ from, to, value }` each. */
export function bars(sheet, values, look) {
  const ground = sheet.y(0);
  for (const { from, to, value } of values) {
    const left = sheet.x(from), width = Math.max(0.5, sheet.x(to) - left - 0.7), at = sheet.y(value);
    sheet.image.append(svg("rect", { class: `bar ${look}`, x: left.toFixed(2), y: Math.min(at, ground).toFixed(2), width: width.toFixed(2), height: Math.abs(ground - at).toFixed(2) }));
  }
}

/** Shows the nearest of `points` (`[at, value, look, …]`) under the pointer and calls `tell` with it; with nothing once the pointer has left. */
export function hover(sheet, points, tell, near = "x") {
  const { image, x, y } = sheet;
  const cursor = svg("line", { class: "cursor", y1: sheet.top, y2: sheet.bottom, visibility: "hidden" });
  const dot = svg("circle", { r: 4, visibility: "hidden" });
  const away = near === "x" ? (point, left) => Math.abs(x(point[0]) - left) : (point, left, down) => Math.hypot(x(point[0]) - left, y(point[1]) - down);
  image.append(cursor, dot);
  image.addEventListener("pointermove", (event) => {
    const box = image.getBoundingClientRect(), scale = WIDTH / box.width;
    const left = (event.clientX - box.left) * scale, down = (event.clientY - box.top) * scale;
    let found = points[0], least = Infinity;
    for (const point of points) {
      const distance = away(point, left, down);
      if (distance < least) [found, least] = [point, distance];
    }
    for (const mark of [cursor, dot]) mark.setAttribute("visibility", "visible");
    cursor.setAttribute("x1", x(found[0]));
    cursor.setAttribute("x2", x(found[0]));
    dot.setAttribute("class", found[2]);
    dot.setAttribute("cx", x(found[0]));
    dot.setAttribute("cy", y(found[1]));
    tell(found);
  });
  image.addEventListener("pointerleave", () => {
    for (const mark of [cursor, dot]) mark.setAttribute("visibility", "hidden");
    tell(null);
  });
}

/** The line below a drawing that tells what is pointed at: the element, and the function that `hover` calls with its words. */
export function readout(idle) {
  const place = make("p", { class: "readout" }, idle);
  return [place, (words) => { place.textContent = words ?? idle; }];
}
