// Charts that a run logged as documents: confusion matrices, accuracy tables, predictions, residuals. A document is anybody's bytes: what
// cannot be drawn, whatever the reason, is said and offered to download.

import { ApiError, filePath, request } from "/studio/api.js";
import { predictions, residuals } from "/studio/bins.js";
import { curves } from "/studio/curves.js";
import { matrix } from "/studio/matrix.js";
import { make, size } from "/studio/show.js";
import { Undrawable } from "/studio/tables.js";

const MOST_BYTES = 5_000_000;
const NO_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?Infinity|NaN/g;
const DRAWINGS = { confusion_matrix: matrix, accuracy_table: curves, predictions, residuals };

/** Elements that show the document, and a link to it; `{ content, wide }`. */
export async function drawn(address, file, kind) {
  const href = `/api/${address}/files/${filePath(file)}`;
  const link = make("p", {}, make("a", { href, download: file.split("/").pop() }, file));
  try {
    const { content, wide } = DRAWINGS[kind](await read(href));
    return { content: [...content, link], wide };
  } catch (error) {
    const why = error instanceof Undrawable || error instanceof ApiError ? error.message : "It is damaged.";
    return { content: [make("p", { class: "undrawn" }, `This document cannot be drawn. ${why}`), link], wide: false };
  }
}

export const isDrawing = (kind) => Object.hasOwn(DRAWINGS, kind);

/** What stands under `data`. The length comes first: a document that is too large is not read at all. */
async function read(href) {
  const stop = new AbortController();
  const response = await request(href, { signal: stop.signal });
  const length = Number(response.headers.get("content-length"));
  if (length > MOST_BYTES) {
    stop.abort();
    throw new Undrawable(`It has ${size(length)}; up to ${size(MOST_BYTES)} are drawn.`);
  }
  const document = parse(await response.text());
  if (!document?.data || typeof document.data !== "object") throw new Undrawable("It has no `data`.");
  return document.data;
}

/** JSON as Python writes it: NaN and Infinity, which JSON has no words for, become null. */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return JSON.parse(text.replace(NO_NUMBER, (word) => (word[0] === '"' ? word : "null")));
  }
}
