// What was logged and is no series of numbers: pictures as they are; lists, rows and tables as tables; documents drawn.

import { filePath, get } from "/studio/api.js";
import { drawn, isDrawing } from "/studio/documents.js";
import { make, number } from "/studio/show.js";

const MOST_LOGGED = 5000, MOST_ROWS = 100, MOST_COLUMNS = 50, MOST_PICTURES = 12;

/** The card of a metric; `address` is its run's. */
export async function figure(address, metric) {
  if (metric.count > MOST_LOGGED) return card(metric, metric.count, make("p", {}, metric.text ? `last ${metric.text}` : "More than a page can show."));
  const { metrics } = await get(`${address}/metrics`, { name: metric.name });
  const value = metrics[metric.name];
  const files = [value].flat().map(fileOf);
  if (files.every(Boolean) && isDrawing(metric.kind)) return document(address, metric, files);
  if (files.every(Boolean)) return card(metric, files.length, ...files.slice(-MOST_PICTURES).map((file) => shown(address, file, metric)));
  const columns = columnsOf(value);
  const length = Math.max(...columns.map(([, cells]) => cells.length));
  return card(metric, length, make("div", { class: "scroll", tabindex: "0" }, table(columns, length)));
}

/** The card of a document: the newest is drawn, those that were logged before are links. */
async function document(address, metric, files) {
  const { content, wide } = await drawn(address, files[files.length - 1], metric.kind);
  const earlier = files.slice(-MOST_PICTURES, -1).map((file) => shown(address, file, metric));
  if (earlier.length) content.push(make("p", {}, "Logged before:"), ...earlier);
  const made = card(metric, files.length, ...content);
  if (wide) made.classList.add("wide");
  return made;
}

function card(metric, count, ...content) {
  const kind = metric.kind.replace("_", " ");
  const heads = [make("span", { title: metric.name }, metric.name), make("small", {}, count > 1 ? `${kind}, ${count}` : kind)];
  return make("figure", { class: "chart figure" }, make("header", {}, ...heads), ...content);
}

/** The path of the run's file that a value names, or nothing. */
function fileOf(value) {
  const [, path] = /^aml:\/\/artifactId\/ExperimentRun\/dcid\.[^/]+\/(.+)$/.exec(value) || [];
  return path;
}

function shown(address, file, metric) {
  const href = `/api/${address}/files/${filePath(file)}`;
  if (metric.kind !== "image") return make("p", {}, make("a", { href, download: file.split("/").pop() }, file));
  return make("a", { href, download: file.split("/").pop() }, make("img", { src: href, alt: file, loading: "lazy" }));
}

/** Pairs of a column's name and its cells. */
function columnsOf(value) {
  if (Array.isArray(value) || value === null || typeof value !== "object" || "float" in value) return [["", [value].flat()]];
  return Object.entries(value).map(([name, cells]) => [name, [cells].flat()]);
}

function table(columns, length) {
  const seen = columns.slice(0, MOST_COLUMNS);
  const rows = Array.from({ length: Math.min(length, MOST_ROWS) }, (_, i) => make("tr", {}, ...seen.map(([, cells]) => cell(cells[i]))));
  const head = seen.some(([name]) => name) ? [make("thead", {}, make("tr", {}, ...seen.map(([name]) => make("th", {}, name))))] : [];
  const more = [];
  if (length > MOST_ROWS) more.push(`${length - MOST_ROWS} more rows`);
  if (columns.length > MOST_COLUMNS) more.push(`${columns.length - MOST_COLUMNS} more columns`);
  const caption = more.length ? [make("caption", {}, `and ${more.join(", ")}`)] : [];
  return make("table", { class: "cells" }, ...caption, ...head, make("tbody", {}, ...rows));
}

function cell(value) {
  const isNumber = typeof value === "number" || value?.float;
  const text = value === null || value === undefined ? "" : typeof value === "object" && !value.float ? JSON.stringify(value) : number(value);
  return make("td", { class: isNumber ? "num" : null }, text);
}
