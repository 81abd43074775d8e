// Histograms that a run logged: residuals, and predictions (their mean and spread for each range of true values).

import { bars, hover, line, paper, range, readout, svg } from "/studio/plots.js";
import { number } from "/studio/show.js";
import { asTable, finite, list, Undrawable } from "/studio/tables.js";

const MOST_BINS = 2000, HEIGHT = 210;

/** `{ from, to, value }` of each bin; in order, or the document is refused. */
function binned(data) {
  const edges = list(data, "bin_edges").map(finite), counts = list(data, "bin_counts").map(finite);
  if (!counts.length || edges.length !== counts.length + 1) throw new Undrawable("It has not one more of `bin_edges` than of `bin_counts`.");
  if (counts.length > MOST_BINS) throw new Undrawable(`It has ${number(counts.length)} bins; up to ${number(MOST_BINS)} are drawn.`);
  if (edges.some((edge, i) => edge === null || (i && edge < edges[i - 1]))) throw new Undrawable("Its `bin_edges` are not numbers in order.");
  return counts.map((value, i) => ({ from: edges[i], to: edges[i + 1], value: value ?? 0, middle: (edges[i] + edges[i + 1]) / 2 }));
}

const within = ({ from, to }) => `${number(from)} to ${number(to)}`;

export function residuals(data) {
  const bins = binned(data);
  const [low, high] = range(bins.map((bin) => bin.value), 0);
  const across = { low: bins[0].from, high: bins[bins.length - 1].to, word: "Residual" };
  const sheet = paper(`Residuals in ${bins.length} bins; the table below has their counts.`, across, { low, high, word: "Cases" }, HEIGHT);
  bars(sheet, bins, "c0");
  if (across.low < 0 && across.high > 0) line(sheet, [[0, low], [0, high]], "guide");
  const [told, tell] = readout("Point at a bar to read it.");
  hover(sheet, bins.map((bin) => [bin.middle, bin.value, "c0", bin]), (point) => tell(point && `${within(point[3])}: ${number(point[1])} cases`));
  return { content: [sheet.image, told, asTable(["Residual", "Cases"], bins.map((bin) => [within(bin), bin.value]))], wide: false };
}

export function predictions(data) {
  const bins = binned(data);
  const means = list(data, "bin_averages").map(finite), errors = list(data, "bin_errors").map(finite);
  const points = bins.map((bin, i) => [bin.middle, means[i] ?? null, "c0", bin, errors[i] ?? null]).filter(([, mean]) => mean !== null);
  if (!points.length) throw new Undrawable("It has no number in `bin_averages`.");
  const ends = [bins[0].from, bins[bins.length - 1].to];
  const [low, high] = range([...points.flatMap(([, mean, , , error]) => [mean - (error ?? 0), mean + (error ?? 0)]), ...ends]);
  const sheet = paper(`Predicted over true values in ${bins.length} bins; the table below has them.`, { low: ends[0], high: ends[1], word: "True value" }, { low, high, word: "Predicted" }, HEIGHT);
  behind(sheet, bins);
  line(sheet, [[ends[0], ends[0]], [ends[1], ends[1]]], "guide");
  for (const [at, mean, , , error] of points) {
    if (error) sheet.image.append(svg("line", { class: "line c0", x1: sheet.x(at), x2: sheet.x(at), y1: sheet.y(mean - error), y2: sheet.y(mean + error) }));
    sheet.image.append(svg("circle", { class: "c0", cx: sheet.x(at), cy: sheet.y(mean), r: 2.5 }));
  }
  line(sheet, points, "c0");
  const [told, tell] = readout("Dashed: predicted as true. Grey: how many cases. Point at it to read a value.");
  const words = ([, mean, , bin, error]) => `true ${within(bin)}: predicted ${number(mean)}${error === null ? "" : ` ± ${number(error)}`}, ${number(bin.value)} cases`;
  hover(sheet, points, (point) => tell(point && words(point)));
  const rows = bins.map((bin, i) => [within(bin), means[i] ?? null, errors[i] ?? null, bin.value]);
  return { content: [sheet.image, told, asTable(["True value", "Predicted, mean", "Spread", "Cases"], rows)], wide: false };
}

/** The counts as bars in the lower third, with no axis of their own. */
function behind(sheet, bins) {
  const most = Math.max(...bins.map((bin) => bin.value));
  const flat = { image: sheet.image, x: sheet.x, y: (value) => sheet.bottom - (most > 0 ? value / most : 0) * ((sheet.bottom - sheet.top) / 3) };
  bars(flat, bins.map((bin) => ({ ...bin, value: Math.max(0, bin.value) })), "faint");
}
