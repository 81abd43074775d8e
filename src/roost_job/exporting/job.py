"""The job of an export: downloads the model, exports it, checks the numbers, registers the result as made from it. Python
3.6+."""

import argparse
import importlib
import os
import sys
from typing import Any, Dict, List, Optional

from roost_job.exporting import Refused, comparing, samples
from roost_job.models.models import Model
from roost_job.run import Run
from roost_job.scoring.handlers import files

REASON = "onnx.refused"
"""The tag of a run whose model cannot be exported: the reason."""
RESULT = "onnx.model"
"""The tag of a successful export: the id of the registered model."""
_ENDINGS = {
    "torch": (".pt", ".pth", ".ts", ".jit", ".torchscript"),
    "sklearn": (".joblib", ".pkl", ".pickle", ".sav", ".skops"),
}


def main(argv: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--framework", choices=sorted(_ENDINGS), required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--sample", default="")
    parser.add_argument("--opset", type=int, default=0)
    parser.add_argument("--script", default="")
    asked = parser.parse_args(argv)
    run = Run.get_context()
    try:
        made = export(run, asked)
    except Refused as error:
        run.tag(REASON, str(error))
        sys.exit("%s cannot be exported: %s." % (asked.model, str(error).rstrip(".")))
    run.tag(RESULT, made.id)
    print("Registered %s, made from %s." % (made.id, asked.model))


def export(run: Any, asked: Any) -> Any:
    source = Model(run.experiment.workspace, id=asked.model)
    folder = os.path.abspath("model")
    source.download(folder)
    path = files.one(folder, _ENDINGS[asked.framework], "model file")
    os.makedirs("outputs", exist_ok=True)
    target = os.path.join("outputs", "model.onnx")
    if asked.framework == "torch":
        from roost_job.exporting import torch_models  # it needs PyTorch

        if not asked.sample:
            raise Refused("PyTorch's models do not say what they take. Give sample_input")
        model = torch_models.load(path, asked.script)
        apart, notes = torch_models.export(model, samples.read(asked.sample), target, asked.opset)
    else:
        from roost_job.exporting import sklearn_models  # it needs scikit-learn

        model = sklearn_models.load(path)
        given = samples.read(asked.sample) if asked.sample else sklearn_models.sample_for(model)
        apart, notes = sklearn_models.export(model, given, target, asked.opset)
    run.log("difference", apart)
    if apart > comparing.TOLERANCE:
        raise Refused(
            "ONNX Runtime gives other numbers on the sample: they differ by %.3g, and %g is allowed"
            % (apart, comparing.TOLERANCE)
        )
    for note in notes:
        print(note)
    print("ONNX Runtime gives the same numbers on the sample: they differ by %.3g at most." % apart)
    onnx: Any = importlib.import_module("onnx")
    return run.register_model(
        asked.name,
        target,
        model_framework=Model.Framework.ONNX,
        model_framework_version=onnx.__version__,
        description="Exported from %s." % asked.model,
        tags=source.tags,
        properties={"onnx.difference": "%.3g" % apart, "onnx.opset": _opset(onnx, target)},
        resource_configuration=source.resource_configuration,
        datasets=[(purpose, each) for purpose, every in source.datasets.items() for each in every],
        _parent=asked.model,
    )


def _opset(onnx: Any, path: str) -> str:
    """The version of each domain, once: exporters list the default domain twice, and leave its name out."""
    newest: Dict[str, int] = {}
    for each in onnx.load(path, load_external_data=False).opset_import:
        domain = each.domain or "ai.onnx"
        newest[domain] = max(each.version, newest.get(domain, 0))
    return ", ".join("%s %d" % pair for pair in sorted(newest.items()))
