// The list of runs: filtered, page by page, kept up to date while it is looked at. Filters stand in the address.

import { get, part } from "/studio/api.js";
import { Columns } from "/studio/columns.js";
import { lead, watch, workspaceOf } from "/studio/page.js";
import { ago, badge, byId, choices, duration, make, moment, took, welcome } from "/studio/show.js";

const PAGE = 25;
const MOST_OTHERS = 10;
const GROUPS = {
  All: [],
  Running: ["Running", "Finalizing", "CancelRequested", "NotResponding"],
  Waiting: ["NotStarted", "Starting", "Preparing", "Queued", "Provisioning"],
  Completed: ["Completed"],
  Failed: ["Failed"],
  Canceled: ["Canceled"],
};

const asked = new URLSearchParams(location.search);
const state = {
  workspace: "",
  experiment: asked.get("experiment") || "",
  group: asked.get("status") in GROUPS ? asked.get("status") : "All",
  pages: [""],
};
const columns = new Columns(asked, () => back(() => {})());
let turn = 0;
let shown = "";
let told = "";

function remember() {
  const query = new URLSearchParams();
  if (state.workspace && state.workspace !== "default") query.set("workspace", state.workspace);
  if (state.experiment) query.set("experiment", state.experiment);
  if (state.group !== "All") query.set("status", state.group);
  columns.remember(query);
  history.replaceState(null, "", query.size ? `/?${query}` : "/");
}

/** The first line of what a person wrote of it. */
const about = (run) => (run.description ? [make("small", { class: "about", title: run.description }, run.description.trim().split("\n")[0])] : []);

function row(run, metrics) {
  const name = run.display_name || run.id;
  const line = make(
    "tr", {},
    make("td", { class: "state" }, badge(run.status)),
    make("td", { class: "name", title: run.id }, make("div", {}, make("a", { href: `/runs/${part(run.id)}` }, name), make("small", {}, `#${run.number}`)), ...about(run)),
    make("td", { class: "exp", title: run.experiment }, run.experiment),
    ...columns.cells(run, metrics),
    make("td", { class: "num took" }, duration(took(run))),
    make("td", { class: "num made", title: moment(run.created_at) }, ago(run.created_at)),
  );
  line.addEventListener("click", (event) => {
    if (!event.target.closest("a") && !getSelection().toString()) location.href = `/runs/${part(run.id)}`;
  });
  return line;
}

function draw(runs, metrics) {
  const page = runs.slice(0, PAGE);
  const rows = JSON.stringify([page.map((run) => [run.id, run.revision]), metrics]) + Math.floor(Date.now() / 15000);
  const moving = page.some((run) => run.started_at && !run.ended_at);
  if (rows !== shown || moving) {
    byId("rows").replaceChildren(...page.map((run) => row(run, metrics[run.id])));
    shown = rows;
  }
  drawEmpty(page.length === 0);
  byId("newer").disabled = state.pages.length === 1;
  byId("older").disabled = runs.length <= PAGE;
  byId("older").onclick = () => go(() => state.pages.push(page[page.length - 1].id));
  byId("newer").textContent = columns.sort ? "← Previous" : "← Newer";
  byId("older").textContent = columns.sort ? "Next →" : "Older →";
  byId("pager").hidden = state.pages.length === 1 && runs.length <= PAGE;
  byId("place").textContent = `Page ${state.pages.length}`;
}

function drawEmpty(none) {
  const filtered = state.experiment || state.group !== "All";
  byId("empty").hidden = !none;
  if (!none || told === `${state.workspace} ${filtered}`) return;
  told = `${state.workspace} ${filtered}`;
  byId("empty").textContent = filtered ? "No run fits these filters." : "No runs yet. `roost submit train.py` starts the first one.";
  if (!filtered) elsewhere(told).catch(() => {}); // a help only: the list itself says what is wrong
}

/** Where runs are when this workspace has none. */
async function elsewhere(about) {
  const { workspaces } = await get("workspaces");
  const others = workspaces.map((each) => each.name).filter((name) => name !== state.workspace).slice(0, MOST_OTHERS);
  const firsts = await Promise.all(others.map((name) => get(`workspaces/${part(name)}/runs`, { limit: 1 })));
  const found = others.filter((_, i) => firsts[i].runs.length);
  if (about !== told || !found.length) return;
  const links = found.flatMap((name) => [" ", make("a", { href: `/?${new URLSearchParams({ workspace: name })}` }, name)]);
  byId("empty").append(make("p", {}, "There are runs in:", ...links));
}

const selection = () => ({ experiment: state.experiment, status: GROUPS[state.group] });

const offer = () => (byId("picker").open ? columns.offer(state.workspace, selection()) : null);

async function load() {
  const mine = turn;
  lead(state.workspace);
  const { runs, metrics } = await get(`workspaces/${part(state.workspace)}/runs`, {
    ...selection(),
    ...(columns.sort ? { skip: PAGE * (state.pages.length - 1) } : { before: state.pages[state.pages.length - 1] }),
    limit: PAGE + 1,
    ...columns.wanted,
  });
  if (mine === turn) draw(runs, metrics);
}

async function go(change) {
  change();
  turn += 1;
  shown = "";
  remember();
  chips();
  columns.drawHead(byId("head"));
  try {
    await Promise.all([load(), offer()]);
  } catch (error) {
    stop(error);
  }
}

const back = (change) => () => go(() => { change(); state.pages = [""]; });

function chips() {
  byId("statuses").replaceChildren(...Object.keys(GROUPS).map((group) => {
    const button = make("button", { type: "button", "aria-pressed": String(group === state.group) }, group);
    button.addEventListener("click", back(() => { state.group = group; }));
    return button;
  }));
}

async function experiments() {
  const { experiments: found } = await get(`workspaces/${part(state.workspace)}/experiments`);
  const names = found.map((each) => each.name);
  if (state.experiment && !names.includes(state.experiment)) { // an endpoint's is shown to who asks for it by name
    const { experiments: every } = await get(`workspaces/${part(state.workspace)}/experiments`, { replicas: true });
    if (every.some((each) => each.name === state.experiment)) names.push(state.experiment);
    else state.experiment = "";
  }
  choices(byId("experiment"), [["", "All experiments"], ...names.map((name) => [name, name])], state.experiment);
}

function stop(error) {
  byId("runs").hidden = true;
  welcome(error);
}

async function begin() {
  try {
    state.workspace = await workspaceOf(asked);
    await experiments();
    byId("runs").hidden = false;
    byId("chooser").hidden = false;
    chips();
    columns.drawHead(byId("head"));
    await load();
    history.replaceState(null, "", location.search.includes("login=") ? "/" : location.href);
  } catch (error) {
    return stop(error);
  }
  byId("workspace").addEventListener("change", (event) => {
    back(() => { state.workspace = event.target.value; state.experiment = ""; })().then(experiments);
  });
  byId("experiment").addEventListener("change", (event) => back(() => { state.experiment = event.target.value; })());
  document.addEventListener("click", (event) => { if (!event.composedPath().includes(byId("picker"))) byId("picker").open = false; });
  byId("picker").addEventListener("toggle", () => offer()?.catch(stop));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("newer").addEventListener("click", () => go(() => state.pages.pop()));
  watch(load, stop);
}

begin();
