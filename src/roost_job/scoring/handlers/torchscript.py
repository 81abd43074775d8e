"""TorchScript models, with PyTorch. Python 3.6+.

TorchScript stores the names of the inputs but no shapes. The first operation on an input shows more: a linear layer or a
convolution gives its width, an embedding means that it takes integers.
"""

import importlib
import re
from typing import Any, Dict, List, Optional, Tuple

from roost_job.scoring.handlers import Handler, files, forms
from roost_job.scoring.handlers.fields import Field, said, schema_of
from roost_job.scoring.messages import Refused, Request, Response

torch: Any = importlib.import_module("torch")
_ENDINGS = (".pt", ".pth", ".ts", ".jit", ".torchscript")
_CALLERS_MISTAKE = re.compile(
    r"shape|size|dimension|channel|dtype|scalar type|expected.*(input|tensor)|out of range", re.I
)
_CONVOLUTIONS = {"aten::conv1d": 1, "aten::conv2d": 2, "aten::conv3d": 3}


class TorchScriptModel(Handler):
    def __init__(self, path: str) -> None:
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._model = _loaded(path, self._device)
        self._model.eval()
        self._inputs = _inputs(self._model)
        self._names = [each.name for each in self._inputs]

    def answer(self, request: Request) -> Response:
        form, value, rest = forms.form_of(request, self._names)
        arrays = forms.arrays_of(value, self._inputs)
        given = [torch.from_numpy(arrays[name]).to(self._device) for name in self._names]
        if rest.get("dtype"):
            given = [each.to(getattr(torch, str(rest["dtype"]), each.dtype)) for each in given]
        try:
            with torch.no_grad():
                result = self._model(*given)
        except (RuntimeError, IndexError) as error:
            text = _last_line(str(error))
            if not _CALLERS_MISTAKE.search(text):
                raise
            shapes = ", ".join("%s %s" % (each.dtype, said(tuple(each.shape))) for each in given)
            raise Refused("The model cannot take %s: %s" % (shapes, text))
        return forms.answer(form, _named(result))

    def schema(self) -> Optional[Dict[str, Any]]:
        return schema_of(self._inputs, [Field("output")])


def load(model_dir: str) -> TorchScriptModel:
    return TorchScriptModel(files.one(model_dir, _ENDINGS, "TorchScript file"))


def _loaded(path: str, device: Any) -> Any:
    try:
        return torch.jit.load(path, map_location=device)
    except (RuntimeError, ValueError) as error:
        text = str(error).strip().splitlines()[0].partition(". ")[0]
    raise RuntimeError(
        "%s is no TorchScript file (%s). A module that torch.save wrote has no code in it: save torch.jit.script(model) or "
        "torch.jit.trace(model, example) with .save('model.pt'), or deploy it with an entry script." % (path, text)
    )


def _inputs(model: Any) -> List[Field]:
    """Names from the signature of `forward`; types and widths as far as its first operations show them."""
    arguments = model.forward.schema.arguments[1:]  # the first is the module itself
    names = [each.name for each in arguments if not each.has_default_value()]
    floats = [each.dtype for each in model.parameters() if each.dtype.is_floating_point]
    usual = "float64" if floats and floats[0] == torch.float64 else "float32"
    told = _told(model)
    return [Field(name, *told.get(index, (usual, None))) for index, name in enumerate(names)]


def _told(model: Any) -> Dict[int, Tuple[str, Any]]:
    found: Dict[int, Tuple[str, Any]] = {}
    try:
        graph = torch.jit.freeze(model).graph
        for index, value in enumerate(list(graph.inputs())[1:]):
            for use in value.uses():
                node = use.user
                if node.kind() == "aten::embedding":
                    found[index] = ("int64", None)
                    continue
                weight = list(node.inputs())[1].toIValue() if node.kind() in _WIDE else None
                if weight is not None and node.kind() == "aten::linear":
                    found[index] = (str(weight.dtype).replace("torch.", ""), (Ellipsis, int(weight.shape[1])))
                elif weight is not None:
                    groups = int(list(node.inputs())[-1].toIValue())
                    size = (None,) * _CONVOLUTIONS[node.kind()]
                    found[index] = (
                        str(weight.dtype).replace("torch.", ""),
                        (None, int(weight.shape[1]) * groups) + size,
                    )
    except Exception:  # noqa: BLE001 - a graph that cannot be read tells nothing; the model is served all the same
        return found
    return found


_WIDE = tuple(_CONVOLUTIONS) + ("aten::linear",)


def _named(result: Any) -> List[Tuple[str, Any]]:
    if isinstance(result, dict):
        return [(str(name), _array(each)) for name, each in result.items()]
    if isinstance(result, (tuple, list)):
        return [("output_%d" % index, _array(each)) for index, each in enumerate(result)]
    return [("output", _array(result))]


def _array(value: Any) -> Any:
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].replace("RuntimeError: ", "").replace("IndexError: ", "").strip() if lines else text
