// The charts of metrics, drawn from thinned points: by step for what was logged, by time and in units for what the machine used.

import { hover, line, paper, range, svg } from "/studio/plots.js";
import { make, number } from "/studio/show.js";
import { timeUnit, titleOf, unitOf } from "/studio/units.js";

/** A card with the chart of one metric that a person logged; `colour` is 0 to 5. `chart` has the API's points. */
export function draw(chart, colour, last) {
  const steps = chart.steps.every((step) => step !== null) ? chart.steps : chart.indexes;
  const points = chart.values.map((value, i) => [steps[i], value]);
  return card(chart, points, colour, { title: chart.name, last: number(last), across: { fits: Number.isInteger }, words: ([at, value]) => `${number(value)} at ${number(at)}` });
}

/** The same of a system metric: over the time since `start`, in a unit that fits. */
export function drawUsage(chart, colour, last, start) {
  const begin = Math.min(start ?? Infinity, ...chart.times.slice(0, 1));
  const [unit, by] = unitOf(chart.name, Math.max(...chart.values.map((value) => Math.abs(value ?? 0))));
  const [time, seconds] = timeUnit(Math.max(...chart.times) - begin);
  const points = chart.values.map((value, i) => [(chart.times[i] - begin) / seconds, value === null ? null : value / by]);
  const amount = (value) => `${number(Number(value.toPrecision(4)))}${unit ? ` ${unit}` : ""}`;
  return card(chart, points, colour, {
    title: titleOf(chart.name), last: last === null ? "–" : amount(last / by), floor: 0,
    across: { low: 0, say: (at) => `${number(at)} ${time}` }, up: { word: unit },
    words: ([at, value]) => `${amount(value)} at ${number(Number(at.toPrecision(3)))} ${time}`,
  });
}

function card(chart, unsorted, colour, { title, last, floor, across, up = {}, words }) {
  const points = unsorted.sort((a, b) => a[0] - b[0]);
  const finite = points.filter(([, value]) => value !== null).map(([at, value]) => [at, value, `c${colour}`]);
  const shown = make("b", {}, last);
  const made = make("figure", { class: "chart" }, make("header", {}, make("span", { title: chart.name }, title), shown));
  if (!finite.length) {
    made.append(make("p", { class: "note" }, "No finite value."));
    return made;
  }
  const [low, high] = range(finite.map(([, value]) => value), floor);
  const label = `${title}: ${chart.count} points, last ${last}`;
  const sheet = paper(label, { low: points[0][0], high: points[points.length - 1][0], ...across }, { low, high, ...up });
  line(sheet, points, `c${colour}`);
  if (finite.length === 1) sheet.image.append(svg("circle", { class: `c${colour}`, cx: sheet.x(finite[0][0]), cy: sheet.y(finite[0][1]), r: 3.5 }));
  hover(sheet, finite, (point) => { shown.textContent = point ? words(point) : last; });
  made.append(sheet.image);
  return made;
}
