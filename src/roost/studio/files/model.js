// One model: all its versions, newest first; each with what made it, what it is made of and who uses it.

import { get, part, request } from "/studio/api.js";
import { datasetLink, endpointLink, isSaved, modelLink, runLink, together } from "/studio/links.js";
import { lead } from "/studio/page.js";
import { ago, byId, make, moment, size, welcome } from "/studio/show.js";

const MOST_VERSIONS = 200, MOST_FILES = 200, MOST_RUNS = 20, MOST_MANIFEST = 5_000_000;
const name = decodeURIComponent(location.pathname.split("/")[2] || "");
const asked = new URLSearchParams(location.search);
const workspace = asked.get("workspace") || "default";
const place = `workspaces/${part(workspace)}`;

const fact = (word, ...value) => make("div", { class: value.length > 1 ? "long" : null }, make("dt", {}, word), make("dd", {}, ...value));

/** A version as a part that is opened by hand; what it needs more requests for is asked for then. */
function card(model, isOpen) {
  const heads = [make("b", {}, `version ${model.version}`), make("span", { title: moment(model.created_at) }, ago(model.created_at)), make("span", {}, size(model.size))];
  const tags = Object.entries(model.tags).map(([key, value]) => make("span", {}, value ? `${key}: ${value}` : key));
  const body = make("div", {});
  const made = make("details", { class: "card version", id: `version-${model.version}` }, make("summary", {}, ...heads, make("span", { class: "tags" }, ...tags)), body);
  let filled = false;
  made.addEventListener("toggle", () => {
    if (!made.open || filled) return;
    filled = true;
    fill(body, model).catch((error) => { body.replaceChildren(make("p", { class: "note" }, error.message)); filled = false; });
  });
  made.open = isOpen;
  return made;
}

async function fill(body, model) {
  body.replaceChildren(make("p", { class: "note" }, "Loading …"));
  const one = `${place}/models/${part(model.name)}/${model.version}`;
  const [users, files, datasets] = await Promise.all([get(`${one}/users`), filesOf(model), Promise.all(model.datasets.map(dataOf))]);
  const framework = model.framework === "Custom" ? "" : `${model.framework} ${model.framework_version}`;
  const runs = users.runs.slice(0, MOST_RUNS).map((id) => runLink(id));
  if (users.runs.length > MOST_RUNS) runs.push(`${users.runs.length - MOST_RUNS} more`);
  const properties = Object.entries(model.properties).map(([key, value]) => `${key}: ${value}`);
  const facts = [
    ["Registered", [`${moment(model.created_at)}${model.user ? ` by ${model.user}` : ""}`]],
    ["Made by run", model.run_id ? [runLink(model.run_id)] : ["none: its files were brought"]],
    ["Framework", framework ? [framework] : []],
    ["Made from", model.parent ? [modelLink(workspace, model.parent)] : []],
    ["Data", together(datasets)],
    ["Deployed to", together(users.services.map((each) => endpointLink(workspace, each)))],
    ["Used by", together(runs)],
    ["Properties", properties.length ? [properties.join(", ")] : []],
  ];
  body.replaceChildren(
    ...(model.description ? [make("p", { class: "description" }, model.description)] : []),
    make("dl", { class: "facts" }, ...facts.filter(([, value]) => value.length).map(([word, value]) => fact(word, ...value))),
    make("ul", { class: "files" }, ...files),
    make("p", { class: "note" }, "All of it: ", make("code", {}, `roost model download ${model.name}:${model.version}`)),
  );
}

async function dataOf([purpose, id]) {
  try {
    const { name: of, version } = await get(`${place}/datasets/by-id/${part(id)}`);
    return make("span", {}, `${purpose}: `, datasetLink(workspace, of, version, isSaved(of) ? "a dataset that is not registered" : undefined));
  } catch (error) {
    if (error.status !== 404) throw error;
    return `${purpose}: a dataset that is not registered any more`;
  }
}

/** Its files as links, out of its manifest: kind, mode, size, blob and path, with tabs between them. */
async function filesOf(model) {
  const response = await request(`/api/blobs/${part(model.manifest)}`);
  if (Number(response.headers.get("content-length")) > MOST_MANIFEST) return [make("li", {}, "Too many files to list here.")];
  const entries = (await response.text()).split("\n").filter(Boolean).map((each) => each.split("\t")).filter(([kind]) => kind === "f");
  const items = entries.slice(0, MOST_FILES).map(([, , bytes, blob, path]) => make(
    "li", {}, make("a", { href: `/api/blobs/${part(blob)}`, download: path.split("/").pop() }, path), make("span", {}, size(Number(bytes))),
  ));
  if (entries.length > MOST_FILES) items.push(make("li", {}, make("span", {}, `and ${entries.length - MOST_FILES} more`)));
  return items;
}

async function begin() {
  lead(workspace);
  const { models } = await get(`${place}/models`, { name, limit: MOST_VERSIONS + 1 });
  if (!models.length) await get(`${place}/models/${part(name)}`);  // its error says what there is
  document.title = `${name} · Roost`;
  byId("title").textContent = name;
  const wanted = models.some((model) => String(model.version) === asked.get("version")) ? Number(asked.get("version")) : models[0].version;
  byId("versions").replaceChildren(...models.slice(0, MOST_VERSIONS).map((model) => card(model, model.version === wanted)));
  byId("more").hidden = models.length <= MOST_VERSIONS;
  byId("more").textContent = `The newest ${MOST_VERSIONS} versions are shown.`;
  byId("model").hidden = false;
  if (asked.has("version")) byId(`version-${wanted}`)?.scrollIntoView({ block: "nearest" });
}

begin().catch((error) => { byId("model").hidden = true; welcome(error); });
