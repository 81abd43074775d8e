// The ways between things: addresses of the pages of runs, models, datasets and endpoints.

import { part } from "/studio/api.js";
import { make } from "/studio/show.js";

const RUN_ID = /\b[A-Za-z0-9][\w-]*_\d{10}_[0-9a-f]{8}\b/g;

function query(workspace, values = {}) {
  const found = new URLSearchParams(values);
  if (workspace !== "default") found.set("workspace", workspace);
  return found.size ? `?${found}` : "";
}

export const runLink = (id, text = id) => make("a", { href: `/runs/${part(id)}` }, text);

/** To a model by its id, `name:version`. */
export function modelLink(workspace, id, text = id) {
  const [, name, version] = /^(.*):(\d+)$/.exec(id) || [null, id, ""];
  return make("a", { href: `/models/${part(name)}${query(workspace, version ? { version } : {})}` }, text);
}

export const datasetLink = (workspace, name, version, text = `${name}, version ${version}`) => make("a", { href: `/data/${part(name)}${query(workspace, version ? { version } : {})}` }, text);

/** Whether that is the name of a dataset which was saved for a model and which nobody registered: it is shown to nobody. */
export const isSaved = (name) => /^_saved_[0-9a-f]{32}$/.test(name);

export const endpointLink = (workspace, name) => make("a", { href: `/serving${query(workspace)}#endpoint-${part(name)}` }, name);

/** Text in which the ids of runs lead to them. */
export function withRuns(text) {
  const found = [];
  let end = 0;
  for (const match of text.matchAll(RUN_ID)) {
    const inPath = text[match.index - 1] === "/" || text[match.index + match[0].length] === "/";
    if (inPath) continue;  // a folder of the run, in a traceback
    found.push(text.slice(end, match.index), runLink(match[0]));
    end = match.index + match[0].length;
  }
  return [...found, text.slice(end)];
}

/** Elements with commas between them. */
export const together = (items) => items.flatMap((item, at) => (at ? [", ", item] : [item]));
