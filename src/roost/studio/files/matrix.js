// A confusion matrix: a table with shaded cells while it can be read as one, else a map of its cells with the worst confusions beside it.

import { readout } from "/studio/plots.js";
import { make, number } from "/studio/show.js";
import { asTable, finite, label, list, percent, table, Undrawable } from "/studio/tables.js";

const MOST_IN_TABLE = 16, MOST_WITH_SHARES = 8, WIDE = 32, WORST = 20, STRONG = 0.55;
const IDLE = "Rows are true classes, columns predicted ones.";

export function matrix(data) {
  const labels = list(data, "class_labels").map(label);
  const rows = list(data, "matrix").map((row) => (Array.isArray(row) ? row.map(finite) : null));
  if (!rows.length || rows.length !== labels.length || rows.some((row) => row?.length !== labels.length)) {
    throw new Undrawable("Its `matrix` has not one row and one column for each of its `class_labels`.");
  }
  const sums = rows.map((row) => row.reduce((sum, value) => sum + Math.max(0, value ?? 0), 0));
  const share = (i, j) => (sums[i] ? Math.max(0, rows[i][j] ?? 0) / sums[i] : 0);
  const words = (i, j) => `true ${labels[i]}, predicted ${labels[j]}: ${number(rows[i][j])} (${percent(share(i, j))} of ${labels[i]})`;
  const [told, tell] = readout(IDLE);
  const parts = { labels, rows, sums, share, words, tell };
  const small = labels.length <= MOST_IN_TABLE;
  const shown = small ? [grid(parts)] : [make("div", { class: "beside" }, map(parts), confusions(parts))];
  return { content: [...shown, told, make("p", {}, right(parts)), asTable(["Class", "Cases", "Recall", "Precision"], byClass(parts), "By class")], wide: isWide(labels) };
}

/** Whether its columns, with labels that are cut at a length, need more than a chart's width. */
const isWide = (labels) => (labels.length + 1) * Math.min(13, Math.max(6, ...labels.map((name) => name.length))) > WIDE;

function grid({ labels, rows, share, words, tell }) {
  const shares = labels.length <= MOST_WITH_SHARES;
  const head = make("tr", {}, make("td", {}, "true ↓ predicted →"), ...labels.map((name) => make("th", { scope: "col", title: name }, name)));
  const body = rows.map((row, i) => make("tr", {}, make("th", { scope: "row", title: labels[i] }, labels[i]), ...row.map((value, j) => {
    const cell = make("td", { class: share(i, j) > STRONG ? "num strong" : "num", title: words(i, j) }, number(value));
    cell.style.setProperty("--heat", `${Math.round(85 * share(i, j))}%`);
    if (shares) cell.append(make("small", {}, percent(share(i, j))));
    cell.addEventListener("pointerenter", () => tell(words(i, j)));
    return cell;
  })));
  const made = make("table", { class: "matrix" }, make("thead", {}, head), make("tbody", {}, ...body));
  made.addEventListener("pointerleave", () => tell(null));
  return make("div", { class: "scroll tall", tabindex: "0" }, made);
}

/** One pixel for each cell, scaled up by the browser; half transparent, so that it looks right on any ground. */
function map({ labels, rows, share, words, tell }) {
  const count = labels.length;
  const made = make("canvas", { class: "map", width: count, height: count, role: "img", "aria-label": `Confusion matrix of ${count} classes; the tables beside and below have its values.` });
  const brush = made.getContext("2d");
  const pixels = brush.createImageData(count, count);
  rows.forEach((row, i) => row.forEach((_, j) => {
    const strength = share(i, j);
    pixels.data.set([47, 128, 204, strength ? 30 + 225 * Math.sqrt(strength) : 0], 4 * (i * count + j));
  }));
  brush.putImageData(pixels, 0, 0);
  const at = (value) => Math.min(count - 1, Math.max(0, Math.floor(value * count)));
  made.addEventListener("pointermove", (event) => {
    const box = made.getBoundingClientRect();
    tell(words(at((event.clientY - box.top) / box.height), at((event.clientX - box.left) / box.width)));
  });
  made.addEventListener("pointerleave", () => tell(null));
  return made;
}

/** The cells off the diagonal with the most cases. */
function confusions({ labels, rows, share }) {
  const found = [];
  rows.forEach((row, i) => row.forEach((value, j) => { if (i !== j && value > 0) found.push([i, j, value]); }));
  found.sort((a, b) => b[2] - a[2]);
  const cells = found.slice(0, WORST).map(([i, j, value]) => [labels[i], labels[j], value, percent(share(i, j))]);
  return make("div", {}, make("h3", {}, "Most often confused"), table(["True", "Predicted", "Cases", "Of the true class"], cells));
}

function byClass({ labels, rows, sums }) {
  const columns = labels.map((_, j) => rows.reduce((sum, row) => sum + Math.max(0, row[j] ?? 0), 0));
  return labels.map((name, i) => [name, sums[i], sums[i] ? percent((rows[i][i] ?? 0) / sums[i]) : "–", columns[i] ? percent((rows[i][i] ?? 0) / columns[i]) : "–"]);
}

function right({ rows, sums }) {
  const all = sums.reduce((sum, each) => sum + each, 0);
  const hits = rows.reduce((sum, row, i) => sum + Math.max(0, row[i] ?? 0), 0);
  return all ? `${number(hits)} of ${number(all)} right, accuracy ${percent(hits / all)}.` : "It has no cases.";
}
