// The log of a run's page: which of its logs is opened first, and how it is followed.

import { ApiError, filePath, request, sleep, visible } from "/studio/api.js";
import { LogView } from "/studio/log.js";
import { byId, ENDED, make } from "/studio/show.js";

const STD_LOG = "user_logs/std_log.txt", BUILD_LOG = "azureml-logs/20_image_build_log.txt";
const PLACES = ["user_logs/", "logs/", "azureml-logs/", "system_logs/"];
const BUILDING = new Set(["NotStarted", "Starting", "Preparing"]);
const PAUSE = 2;

/** The log that tells why the run stands where it stands. */
function telling(run, logs) {
  const written = (path) => logs.some((file) => file.path === path && file.size > 0);
  if (written(BUILD_LOG) && (BUILDING.has(run.status) || run.reason === "environment_failed")) return BUILD_LOG;
  if (written(STD_LOG) || !ENDED.has(run.status) || run.status === "Completed") return STD_LOG;
  const place = (file) => PLACES.findIndex((each) => file.path.startsWith(each));
  const [other] = logs.filter((file) => file.size > 0).sort((a, b) => place(a) - place(b));
  return other ? other.path : STD_LOG;
}

export class RunLog {
  constructor(address) {
    Object.assign(this, { address, reading: 0, abort: null, open: "", chosen: false });
    byId("stream").addEventListener("change", (event) => { this.chosen = true; this.read(event.target.value); });
    byId("log").addEventListener("wheel", (event) => { if (event.deltaY < 0) byId("follow").checked = false; }, { passive: true });
  }

  /** Offers the logs among the run's files. Until a person chooses one, the one that tells most is open. */
  show(run, files) {
    const logs = files.filter((file) => PLACES.some((place) => file.path.startsWith(place)) && !file.path.endsWith(".lock"));
    byId("log-part").hidden = run.spec.kind === "interactive" && !logs.length;
    const best = telling(run, logs);
    const names = [...new Set([best, STD_LOG, ...logs.map((file) => file.path)])].sort((a, b) => (b === STD_LOG) - (a === STD_LOG) || (a < b ? -1 : 1));
    const chooser = byId("stream");
    if (names.join("\n") !== [...chooser.options].map((option) => option.value).join("\n")) {
      const chosen = chooser.value;
      chooser.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
      if (names.includes(chosen)) chooser.value = chosen;
    }
    if (this.chosen || best === this.open) return;
    chooser.value = best;
    this.read(best);
  }

  read(name) {
    this.open = name;
    this.reading += 1;
    this.abort?.abort();
    this.abort = new AbortController();
    this.follow(name, this.reading, this.abort.signal);
  }

  /** Follows one stream until nothing more comes of it, or another is chosen. */
  async follow(name, mine, signal) {
    const note = byId("log-note");
    const view = new LogView(byId("log"), () => { note.textContent = "The beginning is not shown; the whole log is among the files."; });
    const decoder = new TextDecoder();
    let offset = 0;
    note.textContent = "";
    byId("log").classList.add("blank");
    for (;;) {
      await visible();
      try {
        const response = await request(`/api/${this.address}/streams/${filePath(name)}?offset=${offset}&wait=25&limit=500000`, { signal });
        const bytes = await response.arrayBuffer();
        if (mine !== this.reading) return;
        offset = Number(response.headers.get("roost-offset"));
        if (bytes.byteLength) {
          byId("log").classList.remove("blank");
          view.write(decoder.decode(bytes, { stream: true }), byId("follow").checked);
        } else if (response.headers.get("roost-over") === "1") {
          if (!offset) note.textContent = "Nothing was written here.";
          return;
        } else if (!offset) note.textContent = "Nothing was written here yet.";
        if (bytes.byteLength && note.textContent.endsWith("yet.")) note.textContent = "";
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ApiError) { note.textContent = error.message; return; }
        await sleep(PAUSE);
      }
    }
  }
}
