// Columns of the list of runs that a person asks for: arguments, last metrics, tags. They and the order stand in the address.

import { get, part } from "/studio/api.js";
import { byId, make, number } from "/studio/show.js";
import { label } from "/studio/tables.js";

const MOST_COLUMNS = 12, MOST_OFFERED = 300;
const GROUPS = { metrics: "Metrics", params: "Arguments", tags: "Tags" };
const COLUMN = /^(metrics|params|tags)\..+/s;

/** Arguments by name, as the control plane orders by them: `lr` for `--lr 0.1` and `--lr=0.1`. */
export function parameters(spec) {
  const words = !spec.command.length ? spec.arguments : spec.shell ? spec.command[0].split(/\s+/) : spec.command.slice(1);
  const isName = (word) => word !== undefined && word.startsWith("-") && (word.trim() === "" || Number.isNaN(Number(word)));
  const found = {};
  for (let at = 0; at < words.length; at += 1) {
    if (!isName(words[at])) continue;
    const [name, ...rest] = words[at].split("=");
    const own = rest.length ? rest.join("=") : at + 1 < words.length && !isName(words[at + 1]) ? words[(at += 1)] : "yes";
    found[name.replace(/^-+/, "")] = own;
  }
  return found;
}

export class Columns {
  /** `asked` is the page's address; `changed` is called when others are chosen, or another order. */
  constructor(asked, changed) {
    this.chosen = [...new Set(asked.getAll("column"))].filter((each) => COLUMN.test(each)).slice(0, MOST_COLUMNS);
    this.sort = asked.get("sort") || "";
    this.changed = changed;
  }

  /** What the API is asked for beside the runs. */
  get wanted() {
    const names = this.chosen.filter((each) => each.startsWith("metrics.")).map((each) => each.slice(8));
    return { metric: names, ...(this.sort ? { sort: this.sort } : {}) };
  }

  remember(query) {
    for (const each of this.chosen) query.append("column", each);
    if (this.sort) query.set("sort", this.sort);
  }

  /** The heads of the table; each orders by its column, pressed again the other way round, a third time not at all. */
  drawHead(row) {
    for (const old of row.querySelectorAll(".own")) old.remove();
    const place = row.children[3];  // before duration
    for (const each of this.chosen) place.before(make("th", { class: "own num", "data-column": each, title: each }));
    row.closest("table").classList.toggle("many", this.chosen.length > 0);
    for (const head of row.children) {
      const column = head.dataset.column;
      const word = head.classList.contains("own") ? column.slice(column.indexOf(".") + 1) : head.textContent.replace(/ [▲▼]$/, "");
      const sorted = this.sort.replace(/^-/, "") === column;
      const button = make("button", { type: "button", title: `Order by ${word}` }, word + (sorted ? (this.sort.startsWith("-") ? " ▼" : " ▲") : ""));
      button.addEventListener("click", () => this.order(column));
      head.replaceChildren(button);
      if (sorted) head.setAttribute("aria-sort", this.sort.startsWith("-") ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }

  order(column) {
    this.sort = this.sort === `-${column}` ? column : this.sort === column ? "" : `-${column}`;
    this.changed();
  }

  cells(run, metrics) {
    const given = this.chosen.some((each) => each.startsWith("params.")) ? parameters(run.spec) : {};
    return this.chosen.map((each) => {
      const [kind, name] = [each.slice(0, each.indexOf(".")), each.slice(each.indexOf(".") + 1)];
      const metric = kind === "metrics" && metrics?.find((found) => found.name === name);
      const own = kind === "tags" ? (Object.hasOwn(run.tags, name) ? run.tags[name] ?? "yes" : "") : Object.hasOwn(given, name) ? given[name] : "";
      const text = metric ? metric.text ?? number(metric.last) : label(own);
      return make("td", { class: "num own", title: `${name}: ${text}`, "data-name": name }, text);
    });
  }

  /** Fills the picker with what the runs of this selection have. */
  async offer(workspace, selection) {
    const found = await get(`workspaces/${part(workspace)}/runs/columns`, selection);
    const groups = Object.entries(GROUPS).filter(([kind]) => found[kind].length).map(([kind, word]) => make(
      "fieldset", {}, make("legend", {}, word), ...found[kind].slice(0, MOST_OFFERED).map((name) => this.choice(`${kind}.${name}`, name)),
    ));
    byId("columns").replaceChildren(...(groups.length ? groups : [make("p", { class: "note" }, "These runs have no arguments, metrics or tags.")]));
  }

  choice(column, name) {
    const box = make("input", { type: "checkbox" });
    box.checked = this.chosen.includes(column);
    box.addEventListener("change", () => {
      this.chosen = this.chosen.filter((each) => each !== column);
      if (box.checked) this.chosen = [...this.chosen, column].slice(-MOST_COLUMNS);
      else if (this.sort.replace(/^-/, "") === column) this.sort = "";
      this.changed();
    });
    return make("label", { title: name }, box, ` ${name}`);
  }
}
