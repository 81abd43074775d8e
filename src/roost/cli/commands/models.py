"""`roost model …`: list, show, register, download, tag, delete."""

import contextlib
import io
import sys
from collections.abc import Sequence
from typing import Any

import typer

from roost.cli import rendering, session
from roost.cli.inputs import parsing, prompts
from roost.cli.inputs.models import MODEL, find_model
from roost.cli.inputs.parameters import AS_JSON, YES
from roost.cli.inputs.runs import find_run
from roost.domain import codec, no_code
from roost.domain.errors import InvalidInput, ModelConflict
from roost.domain.files import read_manifest
from roost.domain.models import checked_name, parse_id
from roost.sdk.models import lineage
from roost.sdk.models.lineage import Origin
from roost.sdk.models.models import Model
from roost.transport.client import path_of
from roost_job.listing import some

_TAGS = typer.Option([], "--tag", "-t", help="A tag, KEY=VALUE; repeated.", metavar="KEY=VALUE")
_SHOWN = 20


def listing(
    name: str | None = typer.Option(None, "--name", help="Only this model's versions.", metavar="NAME"),
    every: bool = typer.Option(False, "--all", "-a", help="All versions, not the newest of each name only."),
    tag: list[str] = typer.Option(
        [], "--tag", "-t", metavar="K=V", help="Only those with this tag, k or k=v; repeated: all of them."
    ),
    run: str | None = typer.Option(None, "--run", help="Only those that this run made.", metavar="ID"),
    framework: str | None = typer.Option(None, "--framework", help="Only those of this framework.", metavar="NAME"),
    as_json: bool = AS_JSON,
) -> None:
    """List the registered models, newest first."""
    tags = parsing.tags(tag)
    ws = session.workspace()
    run_id = find_run(ws, run).id if run else None
    latest = not (every or name or run)
    found = Model.list(ws, name, tags, None, run_id, latest, model_framework=framework)
    if as_json:
        rendering.as_json([codec.encode(model._record) for model in found])
        return
    if not found:
        filtered = name or tag or run or framework
        more = " like that." if filtered else " yet. Add one with: roost model register NAME PATH"
        print(f"No models in workspace {ws.name!r}{more}", file=sys.stderr)
        return
    columns = ("model", "framework", "size", "registered", "run", "tags")
    rendering.table(columns, [_row(model) for model in found], drop=("tags", "run"), cut=("tags",))


def _row(model: Model) -> tuple[str, ...]:
    record = model._record
    tags = " ".join(f"{key}={value}" if value else key for key, value in sorted(record.tags.items()))
    made = (record.id, _framework(model), rendering.size(record.size), rendering.ago(record.created_at))
    return (*made, record.run_id, tags)


def show(
    name: str = MODEL,
    files: bool = typer.Option(False, "--files", help="List its files."),
    as_json: bool = AS_JSON,
) -> None:
    """Show a model: what it is, the run, code, data and environment that made it, and what uses it."""
    model = find_model(session.workspace(), name)
    behind, uses = lineage.origin(model), _uses(model)
    listed = _files(model) if files else []
    if as_json:
        told = {"model": codec.encode(model._record), "origin": codec.encode(behind), "used_by": uses}
        rendering.as_json({**told, **({"files": codec.encode(listed)} if files else {})})
        return
    record = model._record
    print(f"Model {record.name}, version {record.version}")
    print(f"  framework    {_framework(model)}")
    print(f"  content      {record.path or 'several files'}, {rendering.size(record.size)}")
    for what, value in _facts(model):
        print(f"  {what:<12} {rendering.clean(value)}")
    print(f"  registered   {rendering.ago(record.created_at)} by {record.user}")
    for line in origin_lines(behind):
        print(line)
    for service in uses["services"]:
        print(f"  served by    {service}")
    for run_id in uses["runs"][:_SHOWN]:
        print(f"  used by      {run_id}")
    for entry in listed:
        print(f"  file         {entry.path}  {rendering.size(entry.size)}")
    script = "" if no_code.by_framework(record.framework) else " --script score.py"
    print(f"Next\n  roost model download {record.id}\n  roost endpoint deploy SERVICE --model {record.id}{script}")


def origin_lines(behind: Origin) -> list[str]:
    """What made a model, for people; what is not known is left out."""
    gone = "" if behind.run_there else ", which is deleted"
    told = [
        ("made from", f"model {behind.parent}" if behind.parent else ""),
        ("run", f"{behind.run_id}{gone}" if behind.run_id else "none: somebody brought it"),
        ("experiment", behind.experiment),
        ("code", behind.code + (f", snapshot {behind.snapshot[:12]}" if behind.snapshot else "")),
        ("commit", behind.commit),
        ("environment", behind.environment),
        *(("data", each) for each in behind.data),
    ]
    return [f"  {what:<12} {value}" for what, value in told if value]


def register(
    name: str = typer.Argument(help="The model's name.", metavar="NAME"),
    path: str = typer.Argument(help="A file or folder here; with --run, of the run's files.", metavar="PATH"),
    run: str | None = typer.Option(None, "--run", help="Take it from this run's files.", metavar="ID"),
    framework: str | None = typer.Option(
        None, "--framework", help="TensorFlow, ScikitLearn, Onnx, PyTorch, MLflow, …", metavar="NAME"
    ),
    framework_version: str | None = typer.Option(None, "--framework-version", metavar="VERSION"),
    description: str | None = typer.Option(None, "--description", help="What it is."),
    tags: list[str] = _TAGS,
    properties: list[str] = typer.Option(
        [], "--property", help="A property, which stays as it is; repeated.", metavar="KEY=VALUE"
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Register a file or folder as the next version of a model. What is stored already is not stored again."""
    about: dict[str, Any] = {
        "tags": _pairs("--tag", tags),
        "properties": _pairs("--property", properties),
        "description": description,
        "model_framework": framework,
        "model_framework_version": framework_version,
    }
    if framework_version is not None and framework is None:
        raise InvalidInput("--framework-version is given without --framework.")
    checked_name(name)
    ws = session.workspace()
    if run is not None:
        model = find_run(ws, run).register_model(name, path, **about)
    else:
        with contextlib.redirect_stdout(io.StringIO()):  # the SDK's own words, for notebooks
            model = Model.register(ws, path, name, **about)
    if as_json:
        rendering.as_json(codec.encode(model._record))
    else:
        print(f"Model {model.id}, {rendering.size(model._record.size)}. In a script: Model(workspace, {name!r})")


def download(
    name: str = MODEL,
    target: str = typer.Argument(".", help="The folder that it goes to.", metavar="FOLDER"),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace files that are there already."),
    as_json: bool = AS_JSON,
) -> None:
    """Download a model's files."""
    model = find_model(session.workspace(), name)
    try:
        path = model.download(target, exist_ok=overwrite)
    except ModelConflict as error:
        there = error.message.rpartition(" ")[2]
        raise InvalidInput(f"{there} is there already.", hint="Give --overwrite, or another folder.") from None
    if as_json:
        rendering.as_json({"model": model.id, "path": path})
    else:
        print(f"Model {model.id} is at {path}")


def tag(
    name: str = MODEL,
    tags: list[str] = typer.Argument(None, help="Tags to set.", metavar="[KEY=VALUE]..."),
    remove: list[str] = typer.Option([], "--remove", help="Take this tag away; repeated.", metavar="KEY"),
    as_json: bool = AS_JSON,
) -> None:
    """Set and remove tags of a version."""
    if not tags and not remove:
        raise InvalidInput("No tag was given.", hint="roost model tag NAME:VERSION KEY=VALUE, or --remove KEY")
    given = _pairs("A tag", tags or [])
    model = find_model(session.workspace(), name)
    model.update_tags_properties(add_tags=given, remove_tags=remove)
    if as_json:
        rendering.as_json(model.tags)
    else:
        tagged = ", ".join(f"{k}={v}" for k, v in sorted(model.tags.items()))
        print(f"Model {model.id}: {rendering.clean(tagged) or 'no tags'}")


def delete(
    name: str = typer.Argument(help="Which version: NAME:VERSION, or NAME with --all.", metavar="NAME[:VERSION]"),
    every: bool = typer.Option(False, "--all", "-a", help="All versions of it."),
    yes: bool = YES,
    as_json: bool = AS_JSON,
) -> None:
    """Delete a version of a model for good, after a yes; not while a service uses it."""
    base, version = parse_id(name)
    if (version is None) != every:
        raise InvalidInput(
            f"{name!r} does not say which version goes.", hint=f"roost model delete {base}:VERSION, or {base} --all"
        )
    ws = session.workspace()
    going = Model.list(ws, base) if every else []
    going = going or [find_model(ws, name)]
    for model in going:  # all of them go, or none
        if services := _uses(model)["services"]:
            raise ModelConflict(
                f"Model {model.id} is deployed: {some(services, _SHOWN)}.",
                hint=f"Delete the service first: roost endpoint delete {services[0]}",
            )
    words = some((model.id for model in going), _SHOWN)
    prompts.confirm(f"{words} will be deleted for good.", yes)
    for model in going:
        model.delete()
    if as_json:
        rendering.as_json({"deleted": [model.id for model in going]})
    else:
        print(f"Deleted: {words}. `roost gc` frees what nothing else has.")


def _facts(model: Model) -> list[tuple[str, str]]:
    record = model._record
    found = [("description", record.description)] if record.description else []
    found += [("tag", f"{key} = {value}" if value else key) for key, value in sorted(record.tags.items())]
    found += [("property", f"{key} = {value}") for key, value in sorted(record.properties.items())]
    limits = {"cores": record.resources.cpu, "GB": record.resources.memory_gb, "GPUs": record.resources.gpu}
    told = ", ".join(f"{value:g} {unit}" for unit, value in limits.items() if value is not None)
    return [*found, *([("resources", told)] if told else [])]


def _framework(model: Model) -> str:
    return " ".join(filter(None, (model.model_framework, model.model_framework_version)))


def _files(model: Model) -> list[Any]:
    return list(read_manifest(model.workspace._connection.bytes.carrier.get(model._record.manifest)))


def _uses(model: Model) -> dict[str, list[str]]:
    route = path_of("workspaces", model.workspace.name, "models", model.name, str(model.version), "users")
    found: dict[str, list[str]] = model.workspace._connection.client.call("GET", route)
    return found


def _pairs(what: str, given: Sequence[str]) -> dict[str, str]:
    for each in given:
        if "=" not in each:
            raise InvalidInput(f"{what} is KEY=VALUE, got {each!r}.")
    return dict(each.split("=", 1) for each in given)
