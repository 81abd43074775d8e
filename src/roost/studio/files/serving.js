// Endpoints with their versions and replicas, and the models of the workspace; kept up to date while the page is looked at.

import { get, part } from "/studio/api.js";
import { lead, watch, workspaceOf } from "/studio/page.js";
import { ago, badge, byId, make, moment, number, size, welcome } from "/studio/show.js";

let workspace = "";
let turn = 0;

const runLink = (id, text = id) => make("a", { href: `/runs/${part(id)}` }, text);

function together(items) {
  return items.flatMap((item, at) => (at ? [", ", item] : [item]));
}

function fact(name, ...value) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, ...value));
}

function replicas(version, found) {
  const mine = found.filter((each) => each.version === version.name && (each.ready || !["Failed", "Canceled", "Completed"].includes(each.status)));
  return mine.map((each) => runLink(each.run_id, each.ready ? "ready" : each.leaving ? "leaving" : each.status));
}

function requests(status) {
  return `${number(status.requests || 0)}, of them ${number(status.refused || 0)} refused, ${number(status.errors || 0)} failed`;
}

function card(endpoint, found, status, made) {
  const path = endpoint.spec.kind.startsWith("AKS") ? `/api/v1/service/${endpoint.name}/score` : "/score";
  const versions = endpoint.spec.versions.map((version) => {
    const models = version.models.map((id) => (made.get(id) ? runLink(made.get(id), id) : make("span", {}, id)));
    const up = replicas(version, found);
    return make(
      "li", {},
      make("b", {}, `${version.name} ${version.traffic} %`),
      make("span", {}, ...together(models.length ? models : [version.entry_script || version.handler])),
      make("span", {}, ...together(up.length ? up : ["no replica"])),
    );
  });
  const facts = [
    fact("Address", make("code", {}, endpoint.port ? `${location.protocol}//${location.hostname}:${endpoint.port}${path}` : "none yet")),
    fact("Callers show", endpoint.spec.auth === "none" ? "nothing" : `a ${endpoint.spec.auth}`),
    fact("Requests", status.running ? requests(status) : "–"),
    fact("Changed", ago(endpoint.updated_at)),
  ];
  const words = endpoint.error ? [make("p", { class: "why bad" }, endpoint.error)] : [];
  return make(
    "section", { class: "card endpoint", id: `endpoint-${endpoint.name}` },
    make("div", { class: "head" }, make("h2", {}, endpoint.name), badge(endpoint.state, true)),
    ...words,
    make("dl", { class: "facts" }, ...facts),
    make("ul", { class: "versions" }, ...versions),
  );
}

function row(model) {
  const words = model.framework === "Custom" ? "" : `${model.framework} ${model.framework_version}`;
  return make(
    "tr", {},
    make("td", { class: "name", title: model.description }, make("b", {}, model.name), make("small", {}, `version ${model.version}`)),
    make("td", { class: "exp" }, words),
    make("td", { class: "exp", title: model.run_id }, model.run_id ? runLink(model.run_id) : ""),
    make("td", { class: "num took" }, size(model.size)),
    make("td", { class: "num made", title: moment(model.created_at) }, ago(model.created_at)),
  );
}

async function load() {
  const mine = turn;
  const place = `workspaces/${part(workspace)}`;
  lead(workspace);
  const [{ endpoints }, { models }, all] = await Promise.all([
    get(`${place}/endpoints`), get(`${place}/models`, { latest: true, limit: 200 }), get(`${place}/models`, { limit: 1000 }),
  ]);
  const about = await Promise.all(endpoints.map(async (each) => [
    (await get(`${place}/endpoints/${part(each.name)}/replicas`)).replicas, await get(`${place}/endpoints/${part(each.name)}/status`),
  ]));
  if (mine !== turn) return;
  const made = new Map(all.models.map((model) => [`${model.name}:${model.version}`, model.run_id]));
  const cards = endpoints.map((each, at) => card(each, ...about[at], made));
  byId("endpoints").replaceChildren(...(cards.length ? cards : [make("p", { class: "card empty" }, "No endpoints yet. `roost endpoint deploy NAME --model MODEL` serves the first one.")]));
  byId("models").replaceChildren(...models.map(row));
  byId("empty").hidden = models.length > 0;
}

function stop(error) {
  byId("page").hidden = true;
  welcome(error);
}

async function choose(event) {
  workspace = event.target.value;
  turn += 1;
  history.replaceState(null, "", workspace === "default" ? "/serving" : `/serving?workspace=${part(workspace)}`);
  await load().catch(stop);
}

async function begin() {
  try {
    workspace = await workspaceOf(new URLSearchParams(location.search));
    await load();
    byId("page").hidden = false;
    byId("chooser").hidden = false;
  } catch (error) {
    return stop(error);
  }
  byId("workspace").addEventListener("change", choose);
  watch(load, stop, (error) => error.status === 404); // an endpoint was deleted a moment ago
}

begin();
