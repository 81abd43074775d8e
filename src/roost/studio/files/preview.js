// The beginning of a file of a datastore: rows of a table, lines of a text, or a picture. Bytes are only ever shown as text or as pixels.

import { request } from "/studio/api.js";
import { make, size } from "/studio/show.js";
import { label, table } from "/studio/tables.js";

const MOST_BYTES = 65_536, MOST_PICTURE = 5_000_000, MOST_ROWS = 20, MOST_COLUMNS = 50, MOST_CELL = 200;
const PICTURES = /\.(png|jpe?g|gif|webp|bmp)$/i, TEXTS = /\.(txt|csv|tsv|json|jsonl|ndjson|md|log|ya?ml|xml|html?|py|r|sql|ini|cfg|toml)$/i;

/** Whether there is anything to see of a file of that name and size. */
export const isShown = (item) => item.relayed && ((PICTURES.test(item.name) && (item.size ?? Infinity) <= MOST_PICTURE) || TEXTS.test(item.name));

/** `[element, words]`; `format` is a table's, for a file of one. */
export async function preview(item, format = {}) {
  if (item.size === 0) return [make("p", { class: "note" }, "It is empty."), item.name];
  if (PICTURES.test(item.name)) return [make("img", { src: item.url, alt: item.name }), `${item.name}, ${size(item.size)}`];
  const response = await request(item.url, { headers: { range: `bytes=0-${MOST_BYTES - 1}` } });
  const text = decoded(await response.arrayBuffer(), format.encoding);
  const whole = item.size !== null && item.size <= MOST_BYTES;
  const type = format.type || (/\.[ct]sv$/i.test(item.name) ? "delimited" : /\.(jsonl|ndjson)$/i.test(item.name) ? "json_lines" : "");
  const rows = type === "delimited" ? delimited(text, whole, format.separator || (/\.tsv$/i.test(item.name) ? "\t" : ","))
    : type === "json_lines" ? objects(text, whole) : null;
  if (!rows) return [make("pre", { tabindex: "0" }, text), whole ? item.name : `The first ${size(MOST_BYTES)} of ${item.name}`];
  const heads = type === "delimited" && format.header === "no_headers" ? (rows[0] || []).map((_, i) => `Column${i + 1}`) : rows.shift() || [];
  const cells = rows.slice(0, MOST_ROWS).map((row) => row.slice(0, MOST_COLUMNS).map(cut));
  return [table(heads.slice(0, MOST_COLUMNS).map(cut), cells), `The first ${cells.length} rows of ${item.name}, as they are stored`];
}

const cut = (text) => (text.length > MOST_CELL ? `${text.slice(0, MOST_CELL)}…` : text);

function decoded(bytes, encoding) {
  try {
    return new TextDecoder(String(encoding || "utf-8").replace("utf8", "utf-8").replace("iso88591", "latin1")).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** Rows of cells; a quoted cell may hold separators, line breaks and doubled quotes. The last row is left out when the text was cut in it.
 * With a line break as the separator each line is one cell, as it is when the dataset is read. */
export function delimited(text, whole, separator) {
  const rows = [], source = text.startsWith("\ufeff") ? text.slice(1) : text;
  let row = [], cell = "", quoted = false;
  for (let at = 0; at < source.length && rows.length <= MOST_ROWS; at += 1) {
    const letter = source[at];
    if (quoted) {
      if (letter !== '"') cell += letter;
      else if (source[at + 1] === '"') { cell += '"'; at += 1; } else quoted = false;
    } else if (letter === '"' && !cell && separator !== "\n") quoted = true;
    else if (letter === "\n") {
      rows.push([...row, cell.replace(/\r$/, "")]);
      row = []; cell = "";
    } else if (letter === separator) { row.push(cell); cell = ""; } else cell += letter;
  }
  if (whole && (cell || row.length) && rows.length <= MOST_ROWS) rows.push([...row, cell]);
  return rows;
}

/** The same of JSON lines: the names that occur, then a row for each line. A line that cannot be read is left out. */
function objects(text, whole) {
  const lines = text.split("\n").slice(0, whole ? undefined : -1).filter((each) => each.trim()).slice(0, MOST_ROWS);
  const values = [];
  for (const each of lines) {
    try {
      const value = JSON.parse(each);
      if (value && typeof value === "object") values.push(value);
    } catch { /* not a line of this format */ }
  }
  const names = [...new Set(values.flatMap((value) => Object.keys(value)))];
  return [names, ...values.map((value) => names.map((each) => (Object.hasOwn(value, each) ? label(value[each]) : "")))];
}
