"""`model.to_onnx`: a run in the model's own environment exports it (`roost_job.exporting`), checks that ONNX Runtime gives the
same numbers, and registers the result as made from the model.

The run's folder is the source folder of the training run, so that the model's own classes are found, plus the sample.
"""

import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from roost.domain import no_code
from roost.domain.errors import InvalidModel, NotFound
from roost.domain.models import checked_name
from roost.environments.curated.naming import version as numbers
from roost.sdk import late
from roost.sdk.environments import curated
from roost.sdk.environments.environments import Environment
from roost.sdk.models import no_code_environments, onnx_samples
from roost.sdk.runs.submissions import ScriptRunConfig
from roost_job.exceptions import ActivityFailedException
from roost_job.exporting import job

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace
    from roost.sdk.models.models import Model

EXPERIMENT = "onnx-export"
_SCRIPT, _SAMPLE = "roost_export.py", "roost_sample.json"
_FRAMEWORKS = {"torchscript": "torch", "sklearn": "sklearn"}
_EXTRAS = {
    "torchscript": ("onnx", "onnxruntime", "onnxscript"),
    "sklearn": ("onnx", "onnxruntime", "skl2onnx"),
}
"""Packages that the export needs besides the framework."""


def export(
    model: "Model",
    sample_input: object = None,
    opset: int | None = None,
    name: str | None = None,
    show_output: bool = False,
) -> "Model":
    """The exported ONNX model, registered under `name` (default: the model's name with `-onnx` appended)."""
    loader = _loader(model)
    target = checked_name(name or f"{model.name}-onnx")
    if opset is not None and (isinstance(opset, bool) or not isinstance(opset, int) or not 7 <= opset <= 99):
        raise InvalidModel(
            f"opset must be a whole number from 7 on, got {opset!r}.", hint="Leave it out for the usual one."
        )
    sample = onnx_samples.described(sample_input) if sample_input is not None else None
    workspace: Workspace = model.workspace
    environment = _environment(workspace, model, loader)
    with tempfile.TemporaryDirectory(prefix="roost-onnx-") as folder:
        script = _lay_out(workspace, model, Path(folder))
        Path(folder, _SCRIPT).write_text("from roost_job.exporting.job import main\n\nmain()\n", encoding="utf-8")
        arguments = ["--model", model.id, "--framework", _FRAMEWORKS[loader], "--name", target]
        arguments += ["--script", script] if script else []
        arguments += ["--opset", str(opset)] if opset else []
        if sample is not None:
            Path(folder, _SAMPLE).write_text(
                json.dumps({"inputs": sample.inputs, "table": sample.table}), encoding="utf-8"
            )
            arguments += ["--sample", _SAMPLE]
        config = ScriptRunConfig(folder, script=_SCRIPT, arguments=arguments, environment=environment)
        run = late.Experiment(workspace, EXPERIMENT).submit(config, tags={"model": model.id})
    try:
        run.wait_for_completion(show_output=show_output)
    except ActivityFailedException as error:
        why = run.get_tags().get(job.REASON)
        if why is None:
            raise
        raise InvalidModel(
            f"Model {model.id} cannot be exported to ONNX: {why.rstrip('.')}.", hint=f"Run {run.id} has the log."
        ) from error
    made = run.get_tags().get(job.RESULT)
    if not made:
        raise InvalidModel(f"Run {run.id}, which exports model {model.id}, is {run.get_status()}.")
    return type(model)(workspace, id=made)


def _loader(model: "Model") -> str:
    record = model._record
    handler = no_code.HANDLERS.get(record.framework.replace("-", "").lower())
    if handler in _FRAMEWORKS:
        return handler
    if handler == "onnx":
        raise InvalidModel(f"Model {model.id} is registered as ONNX already.", hint="Deploy it as it is.")
    hint = "Register it with model_framework=Model.Framework.PYTORCH or SCIKITLEARN."
    if handler == "tensorflow":
        hint = "Export it in the job that trains it, with tf2onnx, and register the file with Model.Framework.ONNX."
    raise InvalidModel(
        f"Model {model.id} cannot be exported to ONNX: it is registered with the framework {record.framework!r}; "
        "PyTorch and scikit-learn models can.",
        hint=hint,
    )


def _environment(workspace: "Workspace", model: "Model", loader: str) -> Environment:
    """The environment in which the model was made, plus the packages for the export; else a curated one with them."""
    extras = _EXTRAS[loader]
    record = model._record
    made = no_code_environments.made_in(workspace, record, loader, modules=extras)
    if made is not None and not made.installed:
        return made.environment
    package = no_code_environments.PACKAGES[loader][0]
    if made is not None:
        base, version = made.environment, made.version
        missing = [each for each in extras if no_code_environments.version_in(made.installed, each) is None]
        pins = (
            [f"{package}=={version}"] if version and f"{package}==" in made.installed else []
        )  # no pip besides conda's own
    else:
        base = curated.get(no_code_environments.curated_name(record, loader, no_code_environments.known_machine())[0])
        lines = list(base.python.conda_dependencies.pip_packages)
        version = next((line.partition("==")[2] for line in lines if line.startswith(f"{package}==")), "")
        missing, pins = list(extras), []
    missing = _possible(missing, base, loader, version)
    if not missing:
        return base
    copy = base.clone("onnx-export")
    for line in (*pins, *missing):
        copy.python.conda_dependencies.add_pip_package(line)
    return copy


def _possible(missing: list[str], base: Environment, loader: str, version: str) -> list[str]:
    """Limits versions to those with wheels for an old Python; PyTorch before 2 needs no onnxscript to export."""
    old = loader == "torchscript" and (2,) > numbers(version) > ()
    python = numbers(base.python.conda_dependencies.get_python_version() or "")[:2]
    capped = {"onnx": "onnx<1.12"} if python == (3, 6) else {}
    return [capped.get(each, each) for each in missing if not (old and each == "onnxscript")]


def _lay_out(workspace: "Workspace", model: "Model", folder: Path) -> str:
    """Restores the source folder of the training run; returns the path of its script, empty for none."""
    if model.run_id is None:
        return ""
    with contextlib.suppress(NotFound):
        spec = late.Run.get(workspace, model.run_id)._now().spec
        if spec.snapshot:
            workspace._connection.bytes.lay_out(spec.snapshot, folder)
            for rules in (".amlignore", ".gitignore"):  # ignored files are already missing in the snapshot
                Path(folder, rules).unlink(missing_ok=True)
            return spec.script
    return ""
