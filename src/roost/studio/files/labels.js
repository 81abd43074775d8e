// A run's name, description and tags: shown, and changed in a form. Only what a person touched is sent.

import { patch } from "/studio/api.js";
import { byId, make } from "/studio/show.js";

export function drawLabels(run) {
  byId("title").textContent = run.display_name || run.id;
  byId("id").textContent = run.display_name ? run.id : "";
  byId("description").textContent = run.description || "";
  byId("description").hidden = !run.description;
  const tags = Object.entries(run.tags);
  byId("tags").hidden = !tags.length;
  byId("tags").replaceChildren(...tags.map(([key, value]) => make("span", {}, value === null ? key : `${key}: ${value}`)));
}

/** Lets the form be opened. `current` gives the run; `changed` is called with the run that the API answers. */
export function offerForm(address, current, changed) {
  const form = byId("edit-form");
  byId("edit").addEventListener("click", () => {
    fill(current());
    form.hidden = !form.hidden;
    if (!form.hidden) byId("edit-name").focus();
  });
  byId("edit-add").addEventListener("click", () => {
    const made = row("", "", true);
    byId("edit-tags").append(made);
    made.querySelector("input").focus();
  });
  byId("edit-cancel").addEventListener("click", () => { form.hidden = true; });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    byId("edit-save").disabled = true;
    try {
      const changes = changesOf();
      if (Object.keys(changes).length) changed(await patch(address, changes));
      form.hidden = true;
    } catch (error) {
      byId("edit-note").textContent = [error.message, error.hint].filter(Boolean).join(" ");
    }
    byId("edit-save").disabled = false;
  });
}

function fill(run) {
  set(byId("edit-name"), run.display_name || "");
  set(byId("edit-description"), run.description || "");
  byId("edit-tags").replaceChildren(...Object.entries(run.tags).map(([key, value]) => row(key, value ?? "", false)));
  byId("edit-note").textContent = "";
}

/** What is in a field when it is filled is what it is compared with later: a browser may have changed line ends. */
function set(field, text) {
  field.value = text;
  field.was = field.value;
}

function row(key, value, isNew) {
  const name = make("input", { "aria-label": "Tag", placeholder: "tag", ...(isNew ? {} : { readonly: "" }) });
  const content = make("input", { "aria-label": `Value of ${key || "the tag"}`, placeholder: "value" });
  set(name, key);
  set(content, value);
  const remove = make("button", { type: "button", "aria-label": `Remove ${key || "the tag"}` }, "Remove");
  const made = make("li", {}, name, content, remove);
  Object.assign(made, { key, isNew, fields: [name, content] });
  remove.addEventListener("click", () => {
    if (isNew) made.remove();
    else made.hidden = true;
  });
  return made;
}

function changesOf() {
  const changes = {};
  for (const [id, field] of [["edit-name", "display_name"], ["edit-description", "description"]]) {
    if (byId(id).value !== byId(id).was) changes[field] = byId(id).value;
  }
  const rows = [...byId("edit-tags").children];
  const tags = rows.filter((each) => !each.hidden && (each.isNew ? each.fields[0].value.trim() : each.fields[1].value !== each.fields[1].was));
  const removed = rows.filter((each) => each.hidden);
  if (tags.length) changes.tags = Object.fromEntries(tags.map((each) => [each.isNew ? each.fields[0].value.trim() : each.key, each.fields[1].value]));
  if (removed.length) changes.remove_tags = removed.map((each) => each.key);
  return changes;
}
