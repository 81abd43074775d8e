// The way to the API: the browser sends the session's cookie by itself. Without a session the page says how to get one.

export class ApiError extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.hint = error.hint || "";
  }
}

async function failure(response) {
  try {
    return new ApiError(response.status, (await response.json()).error);
  } catch {
    return new ApiError(response.status, { message: `The control plane answered ${response.status}.` });
  }
}

export async function request(path, options = {}) {
  const response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  if (!response.ok) throw await failure(response);
  return response;
}

export async function get(path, params = {}, options = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== "") query.append(name, each);
    }
  }
  const text = query.toString();
  return (await request("/api/" + path + (text ? "?" + text : ""), options)).json();
}

async function send(method, path, value) {
  const body = value === undefined ? {} : { body: JSON.stringify(value), headers: { "content-type": "application/json" } };
  return (await request("/api/" + path, { method, ...body })).json();
}

export const post = (path, value) => send("POST", path, value);

export const patch = (path, value) => send("PATCH", path, value);

export const part = encodeURIComponent;

export const filePath = (name) => name.split("/").map(encodeURIComponent).join("/");

export const sleep = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

/** Resolves while the page can be seen: a page in the background asks for nothing. */
export function visible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => document.addEventListener("visibilitychange", function seen() {
    if (document.hidden) return;
    document.removeEventListener("visibilitychange", seen);
    done();
  }));
}
