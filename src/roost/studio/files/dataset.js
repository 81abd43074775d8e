// One dataset: where its data is, its files and the beginning of one, and the runs and models on both sides of it.

import { get, part, post } from "/studio/api.js";
import { isSaved, modelLink, runLink } from "/studio/links.js";
import { lead } from "/studio/page.js";
import { isShown, preview } from "/studio/preview.js";
import { ago, byId, choices, make, moment, size, welcome } from "/studio/show.js";

const MOST_FILES = 100, MOST_USES = 100, MOST_PLACES = 20;
const FORMATS = { delimited: "table, delimited", parquet: "table, Parquet", json_lines: "table, JSON lines" };
const name = decodeURIComponent(location.pathname.split("/")[2] || "");
const asked = new URLSearchParams(location.search);
const workspace = asked.get("workspace") || "default";
const place = `workspaces/${part(workspace)}`;
let turn = 0;

const fact = (word, ...value) => make("div", { class: word === "Where" ? "long" : null }, make("dt", {}, word), make("dd", {}, ...value));

const placeOf = (source) => source.url || `${source.datastore}:${source.path}`;

function draw(dataset) {
  const { kind, sources, format, steps } = dataset.definition;
  const places = sources.slice(0, MOST_PLACES).map((source) => make("div", { class: "mono" }, placeOf(source)));
  if (sources.length > MOST_PLACES) places.push(`and ${sources.length - MOST_PLACES} more`);
  const facts = [
    fact("Kind", kind === "tabular" ? FORMATS[format.type] || "table" : "files"),
    fact("Where", ...places),
    fact("Registered", `${moment(dataset.created_at)}${dataset.user ? ` by ${dataset.user}` : ""}`),
  ];
  if (steps.length) facts.push(fact("When it is read", steps.map((step) => step.op.replaceAll("_", " ")).join(", ")));
  byId("facts").replaceChildren(...facts);
  byId("description").hidden = !dataset.description;
  byId("description").textContent = dataset.description;
  byId("tags").replaceChildren(...Object.entries(dataset.tags).map(([key, value]) => make("span", {}, value ? `${key}: ${value}` : key)));
}

async function drawFiles(dataset, mine) {
  const note = byId("files-note");
  note.textContent = "Looking for its files …";
  byId("files").replaceChildren();
  byId("preview-part").hidden = true;
  let found;
  try {
    found = await post(`${place}/datasets/items`, { definition: dataset.definition, limit: MOST_FILES });
  } catch (error) {
    if (mine === turn) note.textContent = [error.message, error.hint].filter(Boolean).join(" ");
    return;
  }
  if (mine !== turn) return;
  const show = (item) => drawPreview(dataset, item, mine);
  byId("files").replaceChildren(...found.items.map((item) => fileRow(item, show)));
  const words = [];
  if (found.count > found.items.length) words.push(`The first ${found.items.length} of ${found.count} files.`);
  if (found.urls.length) words.push(`${found.urls.length} of its places ${found.urls.length === 1 ? "is an address" : "are addresses"} that only whoever reads it asks.`);
  if (!found.count && !found.urls.length) words.push("There is no file there now.");
  if (found.items.some((item) => !item.relayed)) words.push("Files of a cloud store are read by runs and by `roost data download`, not through this page.");
  if (found.left_out) words.push(found.left_out);
  if (dataset.definition.format?.type === "parquet") words.push(`Parquet has no preview here. To see its rows: Dataset.get_by_name(ws, "${dataset.name}").take(5).to_pandas_dataframe()`);
  note.textContent = words.join(" ");
  const first = found.items.find(isShown);
  if (first) await show(first);
}

function fileRow(item, show) {
  const text = item.relayed ? make("a", { href: item.url, download: item.name.split("/").pop() }, item.name) : make("span", { class: "what" }, item.name);
  const ends = [make("span", {}, item.size === null ? "" : size(item.size))];
  if (isShown(item)) {
    const button = make("button", { type: "button", class: "small" }, "preview");
    button.addEventListener("click", async () => { await show(item); byId("preview-part").scrollIntoView({ block: "nearest" }); });
    ends.unshift(button);
  }
  return make("li", {}, text, make("span", { class: "ends" }, ...ends));
}

async function drawPreview(dataset, item, mine) {
  const { kind, format, steps } = dataset.definition;
  let shown, words;
  try {
    [shown, words] = await preview(item, kind === "tabular" ? format : {});
  } catch (error) {
    [shown, words] = [make("p", { class: "note" }, error.message), item.name];
  }
  if (mine !== turn) return;
  byId("preview").replaceChildren(shown);
  byId("preview-note").textContent = words + (kind === "tabular" && steps.length ? "; the dataset's steps are not applied." : ".");
  byId("preview-part").hidden = false;
}

async function drawUses(dataset, mine) {
  const [{ uses }, { models }] = await Promise.all([
    get(`${place}/datasets/by-id/${part(dataset.id)}/uses`), get(`${place}/models`, { dataset_id: dataset.id, limit: MOST_USES }),
  ]);
  if (mine !== turn) return;
  const rows = [
    ...uses.filter((use) => use.direction === "output").map((use) => [runLink(use.run_id), "wrote it", use.at]),
    ...models.map((model) => [modelLink(workspace, `${model.name}:${model.version}`), "model made with it", model.created_at]),
    ...uses.filter((use) => use.direction === "input").map((use) => [runLink(use.run_id), "read it", use.at]),
  ];
  byId("uses").replaceChildren(...rows.slice(0, MOST_USES).map(([link, words, at]) => make("li", {}, link, make("span", { title: moment(at) }, `${words}, ${ago(at)}`))));
  if (rows.length > MOST_USES) byId("uses").append(make("li", {}, make("span", {}, `and ${rows.length - MOST_USES} more`)));
  if (!rows.length) byId("uses").append(make("li", {}, make("span", {}, "None yet. A run reads it with `dataset.as_mount()` among its arguments, or `roost submit --input data=NAME train.py`.")));
}

async function show(dataset) {
  turn += 1;
  draw(dataset);
  await Promise.all([drawFiles(dataset, turn), drawUses(dataset, turn)]);
}

async function begin() {
  lead(workspace);
  const { datasets } = await get(`${place}/datasets`, { name });
  if (!datasets.length) await get(`${place}/datasets/${part(name)}`);  // its error says what there is
  document.title = `${isSaved(name) ? "Dataset" : name} · Roost`;
  byId("title").textContent = isSaved(name) ? "Not registered" : name;
  const first = datasets.find((each) => String(each.version) === asked.get("version")) || datasets[0];
  choices(byId("version"), datasets.map((each) => [String(each.version), String(each.version)]), String(first.version));
  byId("version").addEventListener("change", (event) => {
    const chosen = datasets.find((each) => String(each.version) === event.target.value);
    const query = new URLSearchParams(location.search);
    query.set("version", chosen.version);
    history.replaceState(null, "", `${location.pathname}?${query}`);
    show(chosen).catch(stop);
  });
  byId("dataset").hidden = false;
  await show(first);
}

function stop(error) {
  byId("dataset").hidden = true;
  welcome(error);
}

begin().catch(stop);
