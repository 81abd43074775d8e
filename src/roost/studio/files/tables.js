// What the drawings of documents share: values that may be anything made numbers and words, and each drawing's other form, a table.

import { make, number } from "/studio/show.js";

const MOST_ROWS = 100, MOST_LABEL = 200;

/** A document does not have what its kind must have; the message says what. */
export class Undrawable extends Error {}

/** The list of this name. */
export function list(data, name) {
  if (!Array.isArray(data[name])) throw new Undrawable(`It has no list \`${name}\`.`);
  return data[name];
}

/** A finite number, or null. */
export const finite = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);

/** A label as text, whatever it was. */
export function label(value) {
  const text = typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.length > MOST_LABEL ? `${text.slice(0, MOST_LABEL)}…` : text;
}

export const percent = (share) => `${number(Number((100 * share).toPrecision(3)))} %`;

/** A table that scrolls in its place; `rows` are lists of cells. */
export function table(heads, rows, most = MOST_ROWS) {
  const caption = rows.length > most ? [make("caption", {}, `and ${rows.length - most} more rows, in the file`)] : [];
  const body = rows.slice(0, most).map((cells) => make("tr", {}, ...cells.map((cell) => (
    typeof cell === "number" || cell === null ? make("td", { class: "num" }, number(cell)) : make("td", { title: cell }, cell)
  ))));
  const head = make("thead", {}, make("tr", {}, ...heads.map((word) => make("th", { scope: "col" }, word))));
  return make("div", { class: "scroll", tabindex: "0" }, make("table", { class: "cells" }, ...caption, head, make("tbody", {}, ...body)));
}

/** The same as a part that is opened by hand. */
export const asTable = (heads, rows, word = "As a table") => make("details", { class: "other" }, make("summary", {}, word), table(heads, rows));
