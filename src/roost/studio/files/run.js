// One run: where it stands and why, its metrics, its log as it comes, what happened, its files.

import { ApiError, filePath, get, part, post, request, sleep, visible } from "/studio/api.js";
import { LogView } from "/studio/log.js";
import { Metrics } from "/studio/metrics.js";
import { badge, byId, clock, duration, ENDED, make, moment, size, statusWord, took, welcome } from "/studio/show.js";

const id = decodeURIComponent(location.pathname.split("/")[2] || "");
const address = `runs/${part(id)}`;
const STD_LOG = "user_logs/std_log.txt";
const PAUSE = 2;
const MOST_CHILDREN = 200;
const logged = new Metrics(address, byId("values"), byId("charts"), "user");
const machine = new Metrics(address, byId("machine-values"), byId("machine-charts"), "system");
let run = null;

function fact(word, value) {
  return make("div", {}, make("dt", {}, word), make("dd", {}, value));
}

/** Where an input's data is, in a few words. */
function whence(input) {
  const [first, ...others] = input.definition.sources.map((each) => each.url.split("?")[0] || `${each.datastore}/${each.path}`);
  return others.length ? `${first} and ${others.length} more` : first;
}

function drawRun() {
  const name = run.display_name || run.id;
  document.title = `${statusWord(run.status)} · ${name} · Roost`;
  byId("title").textContent = name;
  byId("id").textContent = run.display_name ? run.id : "";
  byId("crumbs").replaceChildren(
    make("a", { href: `/?${new URLSearchParams({ workspace: run.workspace, experiment: run.experiment })}` }, run.experiment),
    ` · run ${run.number}`,
  );
  if (run.parent_id) byId("crumbs").append(" · child of ", make("a", { href: `/runs/${part(run.parent_id)}` }, run.parent_id));
  byId("status").replaceChildren(badge(run.status, true));
  byId("cancel").hidden = ENDED.has(run.status) || run.status === "CancelRequested";
  const what = run.spec.command.length ? run.spec.command.join(" ") : [run.spec.script, ...run.spec.arguments].join(" ");
  const facts = [["Duration", duration(took(run))], ["Created", moment(run.created_at)], ["Target", run.spec.target], ["By", run.user]];
  if (run.exit_code !== null) facts.push(["Exit code", run.exit_code]);
  if (what.trim()) facts.push(["Script", what]);
  if (run.spec.inputs.length) facts.push(["Inputs", run.spec.inputs.map((each) => `${each.name} (${each.mode}): ${whence(each)}`).join(", ")]);
  if (run.spec.outputs.length) facts.push(["Outputs", run.spec.outputs.map((each) => `${each.name}${each.register_as && ` → ${each.register_as}`}`).join(", ")]);
  byId("facts").replaceChildren(...facts.map(([word, value]) => fact(word, value)));
  const tags = Object.entries(run.tags);
  byId("tags").hidden = !tags.length;
  byId("tags").replaceChildren(...tags.map(([key, value]) => make("span", {}, value === null ? key : `${key}: ${value}`)));
}

async function drawStory() {
  const { events, why } = await get(`${address}/events`);
  byId("why").textContent = why;
  byId("why").hidden = run.status === "Completed" && !run.message;  // the badge has said it
  byId("why").className = run.status === "Failed" ? "why bad" : "why";
  byId("events").replaceChildren(...events.map((event) => {
    const words = make("div", {}, badge(event.to));
    if (event.message) words.append(make("p", {}, event.message));
    return make("li", {}, make("time", { title: moment(event.at) }, clock(event.at)), words);
  }));
}

async function drawFiles() {
  const { files } = await get(`${address}/files`);
  byId("files").replaceChildren(...files.map((file) => make(
    "li", {},
    make("a", { href: `/api/${address}/files/${filePath(file.path)}`, download: file.path.split("/").pop() }, file.path),
    make("span", {}, size(file.size)),
  )));
  if (!files.length) byId("files").replaceChildren(make("li", {}, make("span", {}, "None yet.")));
  const logs = files.map((file) => file.path).filter((path) => path === STD_LOG || /^(logs|user_logs|system_logs|azureml-logs)\//.test(path));
  const names = [...new Set([STD_LOG, ...logs])];
  const chooser = byId("stream");
  if (names.join() !== [...chooser.options].map((option) => option.value).join()) {
    const chosen = chooser.value;
    chooser.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
    if (names.includes(chosen)) chooser.value = chosen;
  }
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
    "li", {}, make("a", { href: `/runs/${part(child.id)}` }, child.display_name || child.id), badge(child.status),
  )));
}

async function drawModels() {
  const { registered, used } = await get(`${address}/models`);
  byId("models-part").hidden = !registered.length && !used.length;
  byId("models").replaceChildren(
    ...registered.map((model) => make("li", {}, make("span", {}, `${model.name}, version ${model.version}`), make("span", {}, size(model.size)))),
    ...used.map((model) => make("li", {}, make("span", {}, model.replace(":", ", version ")), make("span", {}, "used"))),
  );
}

/** Follows one stream until the run has ended and all of it is here, or another is chosen. */
async function follow(name, mine, signal) {
  const view = new LogView(byId("log"), () => { byId("log-note").textContent = "The beginning is not shown; the whole log is among the files."; });
  const decoder = new TextDecoder();
  let offset = 0;
  byId("log-note").textContent = "";
  for (;;) {
    await visible();
    try {
      const response = await request(`/api/${address}/streams/${filePath(name)}?offset=${offset}&wait=25&limit=500000`, { signal });
      const bytes = await response.arrayBuffer();
      if (mine !== reading) return;
      offset = Number(response.headers.get("roost-offset"));
      if (bytes.byteLength) view.write(decoder.decode(bytes, { stream: true }), byId("follow").checked);
      else if (ENDED.has(response.headers.get("roost-status"))) {
        if (!offset) byId("log-note").textContent = "It wrote nothing here.";
        return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError) { byId("log-note").textContent = error.message; return; }
      await sleep(PAUSE);
    }
  }
}

let reading = 0;
let abort = null;
function read(name) {
  reading += 1;
  abort?.abort();
  abort = new AbortController();
  follow(name, reading, abort.signal);
}

async function drawAll() {
  drawRun();
  await Promise.all([drawStory(), drawFiles(), drawMetrics(), drawChildren(), drawModels()]);
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

async function begin() {
  try {
    run = await get(address);
    byId("run").hidden = false;
    await drawAll();
  } catch (error) {
    return stop(error);
  }
  byId("machine").addEventListener("toggle", () => { if (byId("machine").open) drawMachine().catch(stop); });
  byId("stream").addEventListener("change", (event) => read(event.target.value));
  byId("log").addEventListener("wheel", (event) => { if (event.deltaY < 0) byId("follow").checked = false; }, { passive: true });
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
  read(STD_LOG);
  watch();
}

begin();
