// The metrics of a run: a value for what was logged once, a chart for numbers that were logged often, a table or picture for what is more.
// Only what has changed is asked for.

import { get } from "/studio/api.js";
import { draw, drawUsage } from "/studio/charts.js";
import { figure } from "/studio/figures.js";
import { make, number } from "/studio/show.js";

const MOST_CHARTS = 60, MOST_VALUES = 200;

export class Metrics {
  /** `address` is the run's; `values` and `charts` are where they go; `space` is "user" or "system". `start`, which may be set later, is when
   * the run's script began. */
  constructor(address, values, charts, space) {
    Object.assign(this, { address, values, charts, space, known: new Map(), told: "" });
  }

  /** How many there are. */
  async load() {
    const { metrics } = await get(`${this.address}/metrics/summary`, { space: this.space });
    const numbers = metrics.filter((metric) => metric.last !== null);
    const often = numbers.filter((metric) => (metric.count > 1 || this.space === "system") && metric.kind === "scalar").slice(0, MOST_CHARTS);
    const more = metrics.filter((metric) => !isValue(metric)).slice(0, MOST_CHARTS);
    this.drawValues(metrics.filter((metric) => !often.includes(metric) && !more.includes(metric)));
    await this.drawCards([...often, ...more]);
    return metrics.length;
  }

  drawValues(metrics) {
    const cards = metrics.slice(0, MOST_VALUES).map((metric) => make("div", {}, make("span", {}, metric.name), make("b", {}, metric.text ?? number(metric.last))));
    if (metrics.length > MOST_VALUES) cards.push(make("div", {}, make("span", {}, "and"), make("b", {}, `${metrics.length - MOST_VALUES} more`)));
    this.values.replaceChildren(...cards);
  }

  async drawCards(metrics) {
    const told = JSON.stringify(metrics.map((metric) => [metric.name, metric.count]));
    if (told === this.told || this.charts.matches(":hover")) return;  // the same, or somebody reads a value off one
    await Promise.all(metrics.map(async (metric, i) => {
      const kept = this.known.get(metric.name);
      if (kept && kept.count === metric.count) return;
      const card = isValue(metric) ? await this.chart(metric, i % 6) : await figure(this.address, metric);
      this.known.set(metric.name, { count: metric.count, card });
    }));
    this.charts.replaceChildren(...metrics.map((metric) => this.known.get(metric.name).card));
    this.told = told;
  }

  async chart(metric, colour) {
    const points = await get(`${this.address}/metrics/points`, { name: metric.name, buckets: 400, space: this.space });
    return this.space === "system" ? drawUsage(points, colour, metric.last, this.start) : draw(points, colour, metric.last);
  }
}

/** Whether it is told in a word: a number, or a text that was logged once. */
const isValue = (metric) => metric.last !== null || (metric.count === 1 && (metric.kind === "text" || metric.kind === "flag"));
