// What things look like: elements, times, sizes, numbers. Whatever a run wrote becomes text, never markup.

/** An element: `make("a", { href, class: "x" }, "text", child)`. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) element.setAttribute(name, value);
  }
  for (const child of children) {
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export const byId = (id) => document.getElementById(id);

/** The options of a select: pairs of value and text. */
export function choices(place, names, chosen) {
  place.replaceChildren(...names.map(([value, text]) => {
    const option = make("option", { value }, text);
    option.selected = value === chosen;
    return option;
  }));
}

const LOOKS = {
  Completed: "good", Failed: "bad", NotResponding: "bad", Canceled: "off", CancelRequested: "wait",
  Healthy: "good", Unhealthy: "bad", Transitioning: "busy",
  Running: "busy", Finalizing: "busy", Queued: "wait", Provisioning: "wait", Preparing: "wait", Starting: "wait", NotStarted: "wait",
};
export const ENDED = new Set(["Completed", "Failed", "Canceled"]);
const WORDS = { NotStarted: "Not started", CancelRequested: "Canceling", NotResponding: "Not responding" };

export const statusWord = (status) => WORDS[status] || status;

export function badge(status, large = false) {
  return make("span", { class: `badge ${LOOKS[status] || "off"}${large ? " large" : ""}` }, statusWord(status));
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const s = Math.max(0, seconds);
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.round(s)} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(s % 60)} s`;
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} days`;
}

export function took(run) {
  if (!run.started_at) return null;
  return (run.ended_at || Date.now() / 1000) - run.started_at;
}

export function ago(then) {
  const s = Math.max(0, Date.now() / 1000 - then);
  if (s < 45) return "just now";
  if (s < 3600) return `${Math.round(s / 60)} min ago`;
  if (s < 86400) return `${Math.round(s / 3600)} h ago`;
  const days = Math.round(s / 86400);
  return days < 14 ? `${days} day${days === 1 ? "" : "s"} ago` : new Date(1000 * then).toLocaleDateString();
}

export const moment = (then) => (then ? new Date(1000 * then).toLocaleString([], { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" }) : "–");
export const clock = (then) => new Date(1000 * then).toLocaleTimeString([], { hourCycle: "h23" });

export function size(bytes) {
  let amount = bytes;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (amount < 1000) return `${unit === "B" || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${unit}`;
    amount /= 1000;
  }
  return `${amount.toFixed(1)} TB`;
}

/** A number as people read it; what JSON has no word for comes as {"float": "NaN"}. */
export function number(value) {
  if (value && typeof value === "object" && "float" in value) return value.float;
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  if (Number.isInteger(value) && Math.abs(value) < 1e12) return value.toLocaleString("en-US").replaceAll(",", "\u2009");
  const large = Math.abs(value);
  if (large >= 1e7 || large < 1e-4) return value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  return Number(value.toPrecision(6)).toLocaleString("en-US", { maximumSignificantDigits: 6 }).replaceAll(",", "\u2009");
}

/** Says what is the matter instead of showing the page. */
export function welcome(error) {
  const place = byId("welcome");
  if (error instanceof TypeError) return away(place);  // what a browser throws when nobody answers
  const expired = new URLSearchParams(location.search).get("login") === "expired";
  const run = location.pathname.match(/^\/runs\/([\w-]+)$/);
  const lines = error.status === 401
    ? [
        make("h1", {}, expired ? "That link is used up" : "Let this browser in"),
        make("p", {}, expired ? "A link works once, within a minute. Get a new one in a terminal:" : "In a terminal on the machine or account that runs Roost, type:"),
        make("pre", {}, run ? `roost open ${run[1]}` : "roost open"),
        make("p", {}, "It prints a link and opens it; this browser then stays signed in for a week."),
      ]
    : [make("h1", {}, error.status === 404 ? "Not here" : "Something is wrong"), make("p", {}, error.message), make("p", {}, error.hint || "")];
  place.replaceChildren(...lines);
  place.hidden = false;
}

function away(place) {
  place.replaceChildren(
    make("h1", {}, "Nobody answers"),
    make("p", {}, `The control plane at ${location.host} is down or out of reach. Where it runs, type:`),
    make("pre", {}, "roost up"),
    make("p", {}, "Then load this page again."),
  );
  place.hidden = false;
}
