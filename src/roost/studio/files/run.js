// One run: where it stands and why, its metrics, its log as it comes, what happened, its files.

import { filePath, get, part, post, sleep, visible } from "/studio/api.js";
import { drawLabels, offerForm } from "/studio/labels.js";
import { datasetLink, endpointLink, isSaved, modelLink, runLink, withRuns } from "/studio/links.js";
import { Metrics } from "/studio/metrics.js";
import { lead } from "/studio/page.js";
import { RunLog } from "/studio/runlog.js";
import { badge, byId, clock, duration, ENDED, make, moment, size, statusWord, took, welcome } from "/studio/show.js";

const id = decodeURIComponent(location.pathname.split("/")[2] || "");
const address = `runs/${part(id)}`;
const PAUSE = 2;
const MOST_CHILDREN = 200;
const logged = new Metrics(address, byId("values"), byId("charts"), "user");
const machine = new Metrics(address, byId("machine-values"), byId("machine-charts"), "system");
const log = new RunLog(address);
let run = null;

function fact(word, value) {
  return make("div", { class: String(value).length > 30 ? "long" : null }, make("dt", {}, word), make("dd", {}, value));
}

/** Arguments as a person wrote them: what stands for the path of an input or output has its name in angle brackets. */
const written = (words) => words.map((word) => word.replace(/^DatasetConsumptionConfig:(\w+)$/, "<$1>")).join(" ");

/** Where data is, in a few words. */
function whence(definition) {
  const [first, ...others] = definition.sources.map((each) => each.url.split("?")[0] || `${each.datastore}/${each.path}`);
  return others.length ? `${first} and ${others.length} more` : first;
}

function drawRun() {
  const name = run.display_name || run.id;
  document.title = `${statusWord(run.status)} · ${name} · Roost`;
  lead(run.workspace);
  drawLabels(run);
  byId("crumbs").replaceChildren(
    make("a", { href: `/?${new URLSearchParams({ workspace: run.workspace, experiment: run.experiment })}` }, run.experiment),
    ` · run ${run.number}`,
  );
  if (run.parent_id) byId("crumbs").append(" · child of ", runLink(run.parent_id));
  if (run.properties.endpoint) byId("crumbs").append(" · replica of ", endpointLink(run.workspace, run.properties.endpoint));
  byId("status").replaceChildren(badge(run.status, true));
  byId("machine").hidden = run.spec.kind === "interactive";
  byId("cancel").hidden = ENDED.has(run.status) || run.status === "CancelRequested";
  const what = written(run.spec.command.length ? run.spec.command : [run.spec.script, ...run.spec.arguments]);
  const facts = [["Duration", duration(took(run))], ["Created", moment(run.created_at)], ["Target", run.spec.target], ["By", run.user]];
  if (run.exit_code !== null) facts.push(["Exit code", run.exit_code]);
  if (what.trim()) facts.push(["Script", what]);
  if (run.spec.outputs.length) facts.push(["Outputs", run.spec.outputs.map((each) => `${each.name}${each.register_as && ` → ${each.register_as}`}`).join(", ")]);
  byId("facts").replaceChildren(...facts.map(([word, value]) => fact(word, value)));
}

async function drawStory() {
  const { events, why } = await get(`${address}/events`);
  byId("why").replaceChildren(...withRuns(why));
  byId("why").hidden = run.status === "Completed" && !run.message;  // the badge has said it
  byId("why").className = run.status === "Failed" ? "why bad" : "why";
  byId("events").replaceChildren(...events.map((event) => {
    const words = make("div", {}, badge(event.to));
    if (event.message) words.append(make("p", {}, ...withRuns(event.message === run.message ? headOf(event.message) : event.message)));
    return make("li", {}, make("time", { title: moment(event.at) }, clock(event.at)), words);
  }));
}

/** The first line of what stands at the top of the page already. */
function headOf(message) {
  const [first, ...more] = message.split("\n");
  return more.length ? `${first} …` : first;
}

async function drawFiles() {
  const { files } = await get(`${address}/files`);
  byId("files").replaceChildren(...files.map((file) => make(
    "li", {},
    make("a", { href: `/api/${address}/files/${filePath(file.path)}`, download: file.path.split("/").pop() }, file.path),
    make("span", {}, size(file.size)),
  )));
  if (!files.length) byId("files").replaceChildren(make("li", {}, make("span", {}, ENDED.has(run.status) ? "None. What a script writes to ./outputs is kept." : "None yet. What the script writes to ./outputs is kept.")));
  log.show(run, files);
}

async function drawMetrics() {
  byId("charts-part").hidden = !(await logged.load());
  if (byId("machine").open) await drawMachine();
}

async function drawMachine() {
  machine.start = run.started_at;
  const none = !(await machine.load());
  byId("machine-note").textContent = none ? "Nothing was measured: a run is looked at every few seconds, and this one was shorter, or had no agent." : "Over the time since the script began.";
}

async function drawChildren() {
  const { runs } = await get(`workspaces/${part(run.workspace)}/runs`, { parent_id: id, limit: MOST_CHILDREN });
  byId("children-part").hidden = !runs.length;
  byId("children").replaceChildren(...runs.map((child) => make(
    "li", {}, runLink(child.id, child.display_name || child.id), badge(child.status),
  )));
}

async function drawModels() {
  const { registered, used } = await get(`${address}/models`);
  byId("models-part").hidden = !registered.length && !used.length;
  const item = (id, words) => make("li", {}, modelLink(run.workspace, id, id.replace(":", ", version ")), make("span", {}, words));
  byId("models").replaceChildren(...registered.map((model) => item(`${model.name}:${model.version}`, size(model.size))), ...used.map((id) => item(id, "used")));
}

/** What it read and wrote. */
async function drawData() {
  const { uses } = await get(`${address}/datasets`);
  byId("data-part").hidden = !uses.length;
  byId("data").replaceChildren(...uses.slice(0, MOST_CHILDREN).map((use) => {
    const place = whence(use.definition);
    const known = use.dataset_name && !use.unregistered;
    const name = known ? datasetLink(run.workspace, use.dataset_name, use.dataset_version, isSaved(use.dataset_name) ? place : undefined) : use.dataset_name ? `${use.dataset_name}, version ${use.dataset_version}, not registered any more` : place;
    return make("li", {}, make("span", { class: "what", title: place }, name), make("span", {}, use.direction === "input" ? `read as ${use.name}, ${use.mode}` : `written as ${use.name}`));
  }));
}

async function drawAll() {
  drawRun();
  await Promise.all([drawStory(), drawFiles(), drawMetrics(), drawChildren(), drawModels(), drawData()]);
}

/** The run's own changes come by long poll; metrics and files are looked at while it runs. */
async function watch() {
  while (!ENDED.has(run.status)) {
    await visible();
    try {
      run = await get(address, { after: run.revision, wait: PAUSE });
      await drawAll();
    } catch (error) {
      if (error.status) return stop(error);
      await sleep(PAUSE);
    }
  }
}

function stop(error) {
  byId("run").hidden = true;
  welcome(error);
}

/** What a person can press works from the moment it is seen. */
function listen() {
  byId("machine").addEventListener("toggle", () => { if (byId("machine").open) drawMachine().catch(stop); });
  offerForm(address, () => run, (changed) => { run = changed; drawRun(); });
  byId("cancel").addEventListener("click", async () => {
    byId("cancel").disabled = true;
    try {
      run = await post(`${address}/cancel`);
      drawRun();
    } catch (error) {
      byId("why").textContent = error.message;
    }
    byId("cancel").disabled = false;
  });
}

async function begin() {
  try {
    run = await get(address);
    listen();
    byId("run").hidden = false;
    await drawAll();
  } catch (error) {
    return stop(error);
  }
  watch();
}

begin();
