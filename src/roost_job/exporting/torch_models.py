"""PyTorch models to ONNX: TorchScript, or a whole module that torch.save wrote. Python 3.6+, PyTorch 1.2 and later."""

import ast
import importlib
import inspect
import os
import pickle
import sys
import types
import warnings
from typing import Any, Dict, List, Tuple

from roost_job.exporting import Refused, comparing
from roost_job.exporting.samples import Sample

torch: Any = importlib.import_module("torch")
_KEPT = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def load(path: str, script: str) -> Any:
    """The module. `script` is the training script, or empty: its classes are looked up there without running it."""
    try:
        return torch.jit.load(path, map_location="cpu").eval()
    except (RuntimeError, ValueError):
        pass
    if script and os.path.isfile(script):
        _define(script)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = {"weights_only": False} if "weights_only" in inspect.signature(torch.load).parameters else {}
            loaded = torch.load(path, map_location="cpu", **given)
    except (AttributeError, ImportError) as error:
        raise Refused(
            "its class is not there: %s. Save it as TorchScript, torch.jit.script(model).save('model.pt'), or export it in the "
            "job that trains it: torch.onnx.export(model, sample, 'outputs/model.onnx')" % error
        )
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        raise Refused("%s is no file of PyTorch's: %s" % (os.path.basename(path), str(error).split("\n")[0]))
    if not isinstance(loaded, torch.nn.Module):
        what = "the weights alone (a state_dict)" if _is_weights(loaded) else "a %s" % type(loaded).__name__
        raise Refused(
            "%s holds %s, and no module that could compute. Save the whole model, or TorchScript: "
            "torch.jit.script(model).save('model.pt')" % (os.path.basename(path), what)
        )
    return loaded.eval()


def _is_weights(loaded: Any) -> bool:
    return isinstance(loaded, dict) and any(isinstance(each, (torch.Tensor, dict)) for each in loaded.values())


def _define(script: str) -> None:
    """Defines the classes, functions and imports of the training script in this process's main module, where pickles look for
    them. Nothing else of the script runs."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    with open(script, encoding="utf-8") as file:
        tree = ast.parse(file.read(), script)
    main: types.ModuleType = sys.modules["__main__"]
    for node in tree.body:
        constant = isinstance(node, ast.Assign) and _is_constant(node.value)
        if isinstance(node, _KEPT) or constant:
            part = ast.parse("")
            part.body = [node]
            try:
                exec(compile(part, script, "exec"), main.__dict__)  # noqa: S102 - the run's own code, in the user's process
            except Exception as error:  # noqa: BLE001 - what fails may not be needed: the pickle says when it is
                print("Left out of %s, line %d: %s: %s" % (script, node.lineno, type(error).__name__, error))


def _is_constant(node: Any) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def export(model: Any, sample: Sample, path: str, opset: int) -> Tuple[float, List[str]]:
    """Writes the file; returns the largest difference on the sample, and notes for people."""
    given, expected = _try(model, sample)
    names = [each or _names(model)[index] for index, each in enumerate(sample.names)]
    for moving in (True, False):
        try:
            _write(model, given, expected, names, path, opset, moving)
        except Exception as error:  # noqa: BLE001 - exporters raise all sorts; each is why this model cannot be exported
            if moving:
                continue
            raise Refused("PyTorch %s cannot export it: %s" % (torch.__version__, first_line(error)))
        try:
            apart = comparing.largest(expected, comparing.scored(path, [each.numpy() for each in given]))
        except Exception as error:  # noqa: BLE001 - of ONNX Runtime, which has an exception for everything
            if moving:
                continue
            why = "ONNX Runtime cannot run what PyTorch %s wrote: %s" % (torch.__version__, first_line(error))
            if isinstance(model, torch.jit.ScriptModule):
                why += " The whole module, saved with torch.save(model, 'model.pt'), may do better than TorchScript"
            raise Refused(why)
        if moving and apart <= comparing.TOLERANCE and _takes_more(model, given, path):
            return apart, []
    return apart, ["It takes as many rows as the sample has, and no other number of them."]


def _try(model: Any, sample: Sample) -> Tuple[List[Any], List[Any]]:
    """The sample as tensors that the model accepts, and the model's results for them."""
    floats = [each.dtype for each in model.parameters() if each.dtype.is_floating_point]
    kind = floats[0] if floats else torch.float32
    plain = [torch.from_numpy(each) for each in sample.arrays]
    usual = [each if known else each.to(kind) for each, known in zip(plain, sample.typed)]
    why = ""
    for given in (usual, [each.to(kind) if each.is_floating_point() else each for each in plain]):
        try:
            with torch.no_grad():
                return given, flat(model(*given))
        except Exception as error:  # noqa: BLE001 - the model's own code
            why = why or first_line(error)
    shapes = ", ".join("%s %s" % (str(each.dtype), list(each.shape)) for each in usual)
    raise Refused("the model does not take the sample input (%s): %s" % (shapes, why))


def flat(result: Any) -> List[Any]:
    """The tensors of a result, in ONNX's order."""
    if isinstance(result, torch.Tensor):
        return [result.detach().cpu().numpy()]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [array for each in result for array in flat(each)]
    raise Refused("it gives a %s, which ONNX has nothing for" % type(result).__name__)


def _write(
    model: Any, given: List[Any], expected: List[Any], names: List[str], path: str, opset: int, moving: bool
) -> None:
    known = inspect.signature(torch.onnx.export).parameters
    outputs = ["output"] if len(expected) == 1 else ["output_%d" % index for index in range(len(expected))]
    options: Dict[str, Any] = {"input_names": names, "output_names": outputs}
    if moving:
        ranked = [(name, each.dim()) for name, each in zip(names, given)]
        ranked += [(name, each.ndim) for name, each in zip(outputs, expected)]
        options["dynamic_axes"] = {name: {0: "rows"} for name, rank in ranked if rank}
    if opset:
        options["opset_version"] = opset
    if "example_outputs" in known and isinstance(model, torch.jit.ScriptModule):  # before PyTorch 1.10
        with torch.no_grad():
            options["example_outputs"] = model(*given)
    if "dynamo" in known:
        options["dynamo"] = False  # this exporter also takes TorchScript, and exists since the first version
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, tuple(given), path, **options)


def _takes_more(model: Any, given: List[Any], path: str) -> bool:
    """True when twice the rows give the same numbers too."""
    doubled = [torch.cat([each, each]) if each.dim() else each for each in given]
    try:
        with torch.no_grad():
            expected = flat(model(*doubled))
    except Exception:  # noqa: BLE001 - the model's own code
        return False
    try:
        return (
            comparing.largest(expected, comparing.scored(path, [each.numpy() for each in doubled]))
            <= comparing.TOLERANCE
        )
    except Exception:  # noqa: BLE001 - of ONNX Runtime
        return False


def _names(model: Any) -> List[str]:
    if isinstance(model, torch.jit.ScriptModule):
        return [each.name for each in model.forward.schema.arguments[1:]]
    return list(inspect.signature(model.forward).parameters)


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "%s: %s" % (type(error).__name__, lines[0] if lines else "")
