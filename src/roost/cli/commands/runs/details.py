"""`roost run show`: one run in full, for people or as JSON: status, why it waits, what happened, metrics, files, and what to do
next."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

from roost.cli import rendering, session
from roost.cli.commands.runs import metric_summaries
from roost.cli.inputs.parameters import AS_JSON
from roost.cli.inputs.runs import RUN, find_run
from roost.domain import codec, topology
from roost.domain.datasets import destination, masked, token
from roost.domain.environments import EnvironmentUse
from roost.domain.gangs import Member, Phase
from roost.domain.runs import Run as RunRecord
from roost.domain.runs import RunEvent, RunKind, RunSpec, RunStatus
from roost.sdk.calls import downloads, run_records
from roost.sdk.runs.runs import Run
from roost.transport.client import path_of
from roost_job.data.dataset_types import is_saved

_MANY, _FEW = 12, 5


def show(run_id: str = RUN, as_json: bool = AS_JSON) -> None:
    """Show where a run stands, what happened to it, its metrics and files."""
    _show(find_run(session.workspace(), run_id), as_json)


def _show(run: Run, as_json: bool) -> None:
    client = run._connection.client
    record = run_records.get(client, run.id)
    events, why = run_records.events(client, run.id)
    found = metric_summaries.summaries(run)
    files = downloads.listing(run._connection, run.id)
    children = _children(run)
    nodes = run_records.members(client, run.id) if record.spec.node_count > 1 else []
    models = client.call("GET", path_of("runs", run.id, "models"))
    if as_json:
        rendering.as_json(
            {
                "run": codec.encode(record),
                "events": codec.encode(events),
                "why": why,
                "metrics": found,
                "files": codec.encode(files),
                "nodes": codec.encode(nodes),
                "models": models,
                "children": [
                    {"id": child.id, "status": child.status.value, "display_name": child.display_name}
                    for child in children
                ],
            }
        )
        return
    _head(record, why, _uses(run))
    if record.parent_id is not None:
        parent = run_records.get(client, record.parent_id)
        print(f"  parent      {parent.id}, {rendering.status(parent.status.value)}")
    for each in reversed(models["registered"]):
        print(f"  model       {each['name']}:{each['version']}, registered from it")
    for used in models["used"]:
        print(f"  model       {used}, used")
    _story(record, events)
    if nodes:
        _gang(record, nodes)
    if children:
        _family(children, f"roost run show {run.id} --json")
    if found:
        print("Metrics")
        metric_summaries.table(found[:_MANY])
        _more(len(found), "metrics", f"roost run metrics {run.id}")
    if files:
        print("Files")
        paths = [rendering.clean(file.path) for file in files[:_MANY]]
        width = max(map(rendering.wide, paths))
        for file, path in zip(files, paths, strict=False):
            padding = " " * (width - rendering.wide(path))
            print(f"  {path}{padding}  {rendering.size(file.size) if file.blob else 'live'}")
        _more(len(files), "files", f"roost run show {run.id} --json")
    _next(record, any(file.path.startswith("outputs/") for file in files))


def _children(run: Run) -> list[RunRecord]:
    """Those right below it, in the order they were made."""
    answer = run._connection.client.call("GET", path_of("runs", run.id, "children"))
    return sorted((codec.decode(RunRecord, item) for item in answer["runs"]), key=lambda child: child.created_at)


def _gang(run: RunRecord, nodes: list[Member]) -> None:
    """Where each of its nodes is, with the ranks on it, and how it stands or ended."""
    rows = []
    for each in nodes:
        ended = each.to.value if each.to is not None and each.phase is Phase.ENDED else each.phase.value
        code = "" if each.exit_code is None else str(each.exit_code)
        rows.append(
            (
                each.node,
                str(each.node_rank),
                topology.ranks_on(run.spec.launch, run.spec.node_count, run.spec.topology, each.node_rank),
                each.address,
                ended,
                code,
            )
        )
    print("Nodes")
    rendering.table(
        ("node", "rank", "processes", "address", "state", "exit code"), rows, drop=("exit code", "processes")
    )


def _family(children: list[RunRecord], command: str) -> None:
    statuses = Counter(child.status.value for child in children)
    print(f"Children: {len(children)} ({', '.join(f'{count} {word}' for word, count in statuses.most_common())})")
    for child in children[:_FEW]:
        print(f"  {child.id}  {rendering.status(child.status.value)}  {rendering.clean(child.display_name)}".rstrip())
    if len(children) > _FEW:
        print(f"  … and {len(children) - _FEW} more children: {command}")


def _uses(run: Run) -> dict[str, dict[str, str]]:
    """What it read and wrote of data, by direction: the name that the run has for each, and what it is. Registered datasets, and
    with `read` and `wrote` the places that its script named on its own."""
    found: dict[str, dict[str, str]] = {"input": {}, "output": {}, "read": {}, "wrote": {}}
    for use in run._connection.client.call("GET", path_of("runs", run.id, "datasets"))["uses"]:
        if not use["dataset_id"]:
            found["read" if use["direction"] == "input" else "wrote"][use["name"]] = use["name"]
            continue
        named = use["dataset_name"] and not is_saved(use["dataset_name"])
        known = f"{use['dataset_name']}, version {use['dataset_version']}" if named else use["dataset_id"]
        found[use["direction"]][use["name"]] = known + (" (unregistered)" if use["unregistered"] else "")
    return found


def _head(run: RunRecord, why: str, uses: Mapping[str, Mapping[str, str]]) -> None:
    print(title(run))
    if run.description:
        print(f"  description {rendering.clean(run.description)}")
    print(
        f"  status      {rendering.status(run.status.value)}"
        + (f", exit code {run.exit_code}" if run.exit_code is not None else "")
    )
    print(f"  experiment  {run.experiment} #{run.number}, workspace {run.workspace}")
    words = [run.spec.script, *run.spec.arguments] if run.spec.script else run.spec.command
    if words:
        told = plain(run.spec, *(words if run.spec.shell else map(_quoted, words)))
        print(f"  runs        {rendering.clean(told)}  on {run.spec.target}")
    if run.spec.environment is not None:
        _with_environment(run.spec.environment)
    for line in data_lines(run.spec, uses, run.id):
        print(rendering.clean(line))
    if run.started_at is not None and run.ended_at is not None:
        waited = rendering.duration(max(0.0, run.started_at - run.created_at))
        print(f"  timing      waited {waited}, ran {rendering.duration(run.ended_at - run.started_at)}")
    for line in _tag_lines(run):
        print(line)
    if why and not run.status.is_terminal and run.status is not RunStatus.RUNNING:
        print(f"  why         {why}")


def title(run: RunRecord) -> str:
    return f"Run {run.id}" + (f"  “{rendering.clean(run.display_name)}”" if run.display_name else "")


def label_lines(run: RunRecord) -> list[str]:
    """What people say of a run: its description and its tags."""
    described = [f"  description {rendering.clean(run.description)}"] if run.description else []
    return [*described, *_tag_lines(run)]


def _tag_lines(run: RunRecord) -> list[str]:
    return [
        f"  tag         {rendering.clean(key)}" + (f" = {rendering.clean(value)}" if value is not None else "")
        for key, value in sorted(run.tags.items())
    ]


def _with_environment(use: EnvironmentUse) -> None:
    version = f", version {use.version}" if use.version else ""
    kept = f", from the lock {use.lock[:12]}" if use.lock else ""
    print(f"  with        {use.name}{version}{kept}")
    for note in use.definition.get("notes") or ():
        print(f"              {note}")


def plain(spec: RunSpec, *words: str) -> str:
    """A command line with `<name>` where the path of an input or output will be."""
    text = " ".join(words)
    names = [*(each.name for each in spec.inputs), *(each.name for each in spec.outputs)]
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(token(name), f"<{name}>")
    return text


def _quoted(word: str) -> str:
    """A word of a command line, in quotes where it would be read as several or none."""
    return shlex.quote(word) if not word or re.search(r"[\s'\"]", word) else word


def data_lines(
    spec: RunSpec, uses: Mapping[str, Mapping[str, str]] = MappingProxyType({}), run_id: str = "{run-id}"
) -> list[str]:
    """What a run reads and what it fills; `uses` are those of `_uses`: what it was given, and what its script asked for."""
    lines = []
    read, made = uses.get("input", {}), uses.get("output", {})
    for each in spec.inputs:
        places = [masked(one.url) if one.url else f"{one.datastore}/{one.path}" for one in each.definition.sources]
        others = f" and {len(places) - 1} more" if len(places) > 1 else ""
        known = f"dataset {read[each.name]}, at " if each.name in read else ""
        lines.append(f"  input       {each.name}, {each.mode.value}: {known}{places[0]}{others}")
    declared = {each.name for each in spec.inputs}
    lines += [f"  read        dataset {known}, got by name" for name, known in read.items() if name not in declared]
    for output in spec.outputs:
        kept = f", becomes dataset {output.register_as!r}" if output.register_as else ""
        kept = f", is dataset {made[output.name]}" if output.name in made else kept
        place = f"{output.datastore or 'the default datastore'}/{destination(output, run_id)}"
        lines.append(f"  output      {output.name}: {place}{kept}")
    filled = {each.name for each in spec.outputs}
    own = [("read", name) for name in uses.get("read", {}) if name not in declared]
    own += [("wrote", name) for name in uses.get("wrote", {}) if name not in filled]
    lines += [f"  {deed:11} {place}, by the script" for deed, place in own[:_MANY]]
    if len(own) > _MANY:
        lines.append(f"              and {len(own) - _MANY} places more")
    return lines + [
        f"  made        dataset {known}, by the script" for name, known in made.items() if name not in filled
    ]


def _story(run: RunRecord, events: list[RunEvent]) -> None:
    print("What happened")
    for event in events:
        words = event.reason.value.replace("_", " ")
        print(f"  {rendering.clock(event.at)}  {event.to.value:16} {words}")
    if run.message and run.status is RunStatus.FAILED:
        print("Error")
        for line in run.message.splitlines():
            print(f"  {rendering.clean(line)}")


def _more(count: int, what: str, command: str) -> None:
    if count > _MANY:
        print(f"  … and {count - _MANY} more {what}: {command}")


def _next(run: RunRecord, has_outputs: bool) -> None:
    going = not run.status.is_terminal
    commands = {
        f"logs {'-f ' if going else ''}{run.id}": run.spec.kind
        is not RunKind.INTERACTIVE,  # whose process prints elsewhere
        f"cancel {run.id}": going,
        f"download {run.id} --prefix outputs": has_outputs and not going,
    }
    if any(commands.values()):
        print("Next")
    for command, helps in commands.items():
        if helps:
            print(f"  roost run {command}")
