// The data of a workspace: its datasets, each with its newest version, and the datastores that they are in.

import { get, part } from "/studio/api.js";
import { datasetLink } from "/studio/links.js";
import { lead, workspaceOf } from "/studio/page.js";
import { ago, byId, make, moment, welcome } from "/studio/show.js";

const KINDS = { folder: "folder", azure_blob: "Azure Blob", s3: "S3", gcs: "Google Cloud Storage", http: "HTTP" };
const FORMATS = { delimited: "table, delimited", parquet: "table, Parquet", json_lines: "table, JSON lines" };

let workspace = "";

function row(name, notes, kind, place, made, link = name) {
  return make(
    "tr", {},
    make("td", { class: "name", title: name }, link, ...notes.map((note) => make("small", {}, note))),
    make("td", {}, kind),
    make("td", { class: "where mono", title: place }, place),
    make("td", { class: "num", title: made ? moment(made) : "" }, made ? ago(made) : ""),
  );
}

function dataset(each) {
  const { kind, sources, format } = each.definition;
  const places = sources.map((source) => source.url || `${source.datastore}:${source.path}`);
  const more = places.length > 1 ? ` and ${places.length - 1} more` : "";
  const tags = Object.entries(each.tags).map(([key, value]) => `${key}: ${value}`);
  return row(each.name, [`version ${each.version}`, ...tags], kind === "tabular" ? FORMATS[format.type] || "table" : "files", (places[0] || "–") + more, each.created_at, datasetLink(workspace, each.name, "", each.name));
}

function datastore(each) {
  const { path, url, bucket, account, container, endpoint } = each.settings;
  const place = path || url || bucket || `${account}/${container}`;
  const notes = [each.is_default ? "default" : "", each.read_only ? "read only" : ""].filter(Boolean);
  return row(each.name, notes, KINDS[each.kind] || each.kind, endpoint ? `${place} at ${endpoint}` : place, each.created_at);
}

async function show(chosen) {
  workspace = chosen;
  const [{ datasets }, { datastores }] = await Promise.all(
    ["datasets", "datastores"].map((noun) => get(`workspaces/${part(workspace)}/${noun}`)),
  );
  byId("datasets").replaceChildren(...datasets.map(dataset));
  byId("none").hidden = datasets.length > 0;
  byId("datastores").replaceChildren(...datastores.map(datastore));
  lead(workspace);
  history.replaceState(null, "", workspace === "default" ? "/data" : `/data?${new URLSearchParams({ workspace })}`);
}

function stop(error) {
  byId("data").hidden = true;
  welcome(error);
}

async function begin() {
  await show(await workspaceOf(new URLSearchParams(location.search)));
  byId("data").hidden = false;
  byId("chooser").hidden = false;
  byId("workspace").addEventListener("change", (event) => show(event.target.value).catch(stop));
}

begin().catch(stop);
