// What the pages of a workspace share: the workspace is chosen at the top, and what is shown is kept up to date while it is looked at.

import { get, sleep, visible } from "/studio/api.js";
import { byId, choices } from "/studio/show.js";

const EVERY = 3;

/** Fills the chooser; the workspace that the page begins with: the one of its address, if it is there. */
export async function workspaceOf(address) {
  const { workspaces } = await get("workspaces");
  const names = workspaces.map((each) => each.name);
  const chosen = [address.get("workspace"), "default", names[0]].find((name) => names.includes(name));
  choices(byId("workspace"), names.map((name) => [name, name]), chosen);
  return chosen;
}

/** Loads again and again. An error answer ends it with `stop`, unless it `passes` by itself. */
export async function watch(load, stop, passes = () => false) {
  for (;;) {
    await sleep(EVERY);
    await visible();
    let away = false;
    try {
      await load();
    } catch (error) {
      away = !error.status;
      if (!away && !passes(error)) return stop(error);
    }
    byId("live").className = away ? "live away" : "live";
    byId("live").textContent = away ? "the control plane does not answer" : "live";
  }
}

/** Has the links to the other pages lead to the workspace that is looked at. */
export function lead(workspace) {
  const search = workspace === "default" ? "" : `?${new URLSearchParams({ workspace })}`;
  for (const link of document.querySelectorAll("nav a.back")) link.search = search;
}
