// Endpoints with their versions and replicas, and the models of the workspace; kept up to date while the page is looked at.

import { get, part } from "/studio/api.js";
import { modelLink, runLink, together } from "/studio/links.js";
import { lead, watch, workspaceOf } from "/studio/page.js";
import { ago, badge, byId, make, moment, number, size, welcome } from "/studio/show.js";

const MOST_MODELS = 200;
let workspace = "";
let turn = 0;

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

function card(endpoint, found, status) {
  const path = endpoint.spec.kind.startsWith("AKS") ? `/api/v1/service/${endpoint.name}/score` : "/score";
  const versions = endpoint.spec.versions.map((version) => {
    const models = version.models.map((id) => modelLink(workspace, id));
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
    make("td", { class: "name", title: model.description }, modelLink(workspace, model.name), make("small", {}, `version ${model.version}`, ...(model.version > 1 ? [", ", modelLink(workspace, model.name, "all versions")] : []))),
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
  const [{ endpoints }, { models }] = await Promise.all([get(`${place}/endpoints`), get(`${place}/models`, { latest: true, limit: MOST_MODELS + 1 })]);
  const about = await Promise.all(endpoints.map(async (each) => [
    (await get(`${place}/endpoints/${part(each.name)}/replicas`)).replicas, await get(`${place}/endpoints/${part(each.name)}/status`),
  ]));
  if (mine !== turn) return;
  const cards = endpoints.map((each, at) => card(each, ...about[at]));
  byId("endpoints").replaceChildren(...(cards.length ? cards : [make("p", { class: "card empty" }, "No endpoints yet. `roost endpoint deploy NAME --model MODEL` serves the first one.")]));
  byId("models").replaceChildren(...models.slice(0, MOST_MODELS).map(row));
  byId("more").hidden = models.length <= MOST_MODELS;
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
    document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  } catch (error) {
    return stop(error);
  }
  byId("workspace").addEventListener("change", choose);
  watch(load, stop, (error) => error.status === 404); // an endpoint was deleted a moment ago
}

begin();
