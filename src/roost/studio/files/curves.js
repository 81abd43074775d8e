// An accuracy table: for each class and threshold the true and false positives and negatives. Drawn as ROC and precision/recall curves.

import { hover, line, paper, readout } from "/studio/plots.js";
import { choices, make, number } from "/studio/show.js";
import { asTable, finite, label, list, Undrawable } from "/studio/tables.js";

const AT_ONCE = 5, HEIGHT = 250, MOST_POINTS = 1000;
const IDLE = "Point at a curve to read its threshold and rates.";
const TOGETHER = "all classes together";
const UNIT = { low: 0, high: 1 };

export function curves(data) {
  const tables = list(data, "probability_tables"), thresholds = list(data, "probability_thresholds").map(finite), labels = list(data, "class_labels").map(label);
  if (!tables.length || tables.length !== labels.length) throw new Undrawable("It has not one of its `probability_tables` for each of its `class_labels`.");
  const counts = tables.map(counted);
  const every = counts.map((rows, i) => curve(labels[i], rows, thresholds));
  const together = curve(TOGETHER, summed(counts), thresholds);
  const place = make("div", {});
  const show = (chosen) => place.replaceChildren(...both(chosen));
  const few = every.length <= AT_ONCE;
  show(few ? [...(every.length > 1 ? [together] : []), ...every] : [together, every[0]]);
  const rows = [...every, ...(every.length > 1 ? [together] : [])].map((each) => [each.name, shortened(each.area), shortened(each.precision)]);
  return { content: [...(few ? [] : [chooser(every, (each) => show([together, each]))]), place, asTable(["Class", "AUC", "Average precision"], rows)], wide: true };
}

function chooser(every, choose) {
  const made = make("select", { "aria-label": "Class" });
  choices(made, every.map((each, i) => [String(i), each.name]), "0");
  made.addEventListener("change", () => choose(every[Number(made.value)]));
  return make("label", { class: "pick" }, make("span", {}, "Class"), made);
}

/** The rows of one class, each [true positives, false positives, true negatives, false negatives]. */
function counted(rows) {
  if (!Array.isArray(rows)) throw new Undrawable("One of its `probability_tables` is no list.");
  return rows.map((row) => {
    const cells = Array.isArray(row) ? row.slice(0, 4).map(finite) : [];
    if (cells.length < 4 || cells.some((cell) => cell === null || cell < 0)) throw new Undrawable("A row of its `probability_tables` has not four counts.");
    return cells;
  });
}

function summed(counts) {
  const length = Math.min(...counts.map((rows) => rows.length));
  return Array.from({ length }, (_, at) => [0, 1, 2, 3].map((i) => counts.reduce((sum, rows) => sum + rows[at][i], 0)));
}

/** The two curves of a class, points `[across, up, threshold]` in the order of their first number, and the areas under them. */
function curve(name, rows, thresholds) {
  const step = Math.ceil(rows.length / MOST_POINTS);
  const kept = rows.map((row, at) => [row, thresholds[at] ?? null]).filter((_, at) => at % step === 0 || at === rows.length - 1);
  const roc = kept.filter(([[tp, fp, tn, fn]]) => fp + tn && tp + fn).map(([[tp, fp, tn, fn], at]) => [fp / (fp + tn), tp / (tp + fn), at]);
  const found = kept.filter(([[tp, fp, , fn]]) => tp + fp && tp + fn).map(([[tp, fp, , fn], at]) => [tp / (tp + fn), tp / (tp + fp), at]);
  roc.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  found.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  return { name, roc, found, area: roc.length ? area([[0, 0], ...roc, [1, 1]]) : null, precision: found.length ? average(found) : null };
}

const area = (points) => points.slice(1).reduce((sum, [x, y], i) => sum + ((x - points[i][0]) * (y + points[i][1])) / 2, 0);

/** Precision weighed by how much recall each point adds. */
const average = (points) => points.reduce((sum, [recall, precision], i) => sum + (recall - (i ? points[i - 1][0] : 0)) * precision, 0);

const shortened = (value) => (value === null ? "–" : number(Number(value.toPrecision(4))));

function both(chosen) {
  const [told, tell] = readout(IDLE);
  const look = (i) => (chosen.length > 1 ? (i ? `c${(i - 1) % 6}` : "mean") : "c0");
  const plot = (title, key, across, up) => {
    const sheet = paper(`${title} of ${chosen.map((each) => each.name).join(", ")}; the table below has the areas.`, { ...UNIT, word: across }, { ...UNIT, word: up }, HEIGHT);
    if (key === "roc") line(sheet, [[0, 0], [1, 1]], "guide");
    chosen.forEach((each, i) => line(sheet, key === "roc" && each.roc.length ? [[0, 0], ...each.roc, [1, 1]] : each[key], look(i)));
    const points = chosen.flatMap((each, i) => each[key].map(([x, y, at]) => [x, y, look(i), each.name, at]));
    const words = ([x, y, , name, at]) => `${name}: ${up.toLowerCase()} ${shortened(y)}, ${across.toLowerCase()} ${shortened(x)}${at === null ? "" : `, threshold ${shortened(at)}`}`;
    if (points.length) hover(sheet, points, (point) => tell(point && words(point)), "both");
    return make("div", {}, make("h3", {}, title), sheet.image);
  };
  const keys = chosen.map((each, i) => make("li", { class: look(i) }, `${each.name}, AUC ${shortened(each.area)}`));
  return [
    make("div", { class: "beside" }, plot("ROC", "roc", "False positive rate", "True positive rate"), plot("Precision and recall", "found", "Recall", "Precision")),
    told, make("ul", { class: "keys" }, ...keys),
  ];
}
