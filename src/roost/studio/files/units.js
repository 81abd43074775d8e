// Units of what a machine uses: the name of a system metric says what it counts. Memory in powers of two, rates in powers of ten.

const BYTES = [["B", 1], ["KiB", 2 ** 10], ["MiB", 2 ** 20], ["GiB", 2 ** 30], ["TiB", 2 ** 40]];
const RATES = [["B/s", 1], ["kB/s", 1e3], ["MB/s", 1e6], ["GB/s", 1e9]];
const TIMES = [["s", 1], ["min", 60], ["h", 3600], ["days", 86400]];
const KINDS = [[/_bytes_per_second$/, RATES], [/_bytes$/, BYTES], [/_percent$/, [["%", 1]]], [/_watts$/, [["W", 1]]]];

/** The greatest unit in which the largest value is `least` or more. */
function fitting(units, most, least = 1) {
  return units.filter(([, by]) => most / by >= least).pop() || units[0];
}

/** `[word, by]`: the unit of a metric whose largest value is `most`, and what to divide by. */
export function unitOf(name, most) {
  const [, units] = KINDS.find(([ending]) => ending.test(name)) || [];
  return units ? fitting(units, most) : ["", 1];
}

/** `[word, by]` for a span of seconds. */
export const timeUnit = (seconds) => fitting(TIMES, seconds, 2);

/** A system metric's name without its unit: "node/disk read" of `node/disk_read_bytes_per_second`. */
export function titleOf(name) {
  const [ending] = KINDS.find(([each]) => each.test(name)) || [""];
  return name.replace(ending, "").replaceAll("_", " ");
}
