"""`roost model export-onnx`: a registered PyTorch or scikit-learn model as ONNX, checked and registered."""

import typer

from roost.cli import rendering, session
from roost.cli.inputs.models import MODEL, find_model
from roost.cli.inputs.parameters import AS_JSON
from roost.domain import codec
from roost.sdk.models import onnx_samples


def export_onnx(
    name: str = MODEL,
    sample: str | None = typer.Option(
        None,
        "--input",
        "-i",
        help="Sample input: JSON, @FILE with JSON, or a type and a shape such as 'float32[1,3,224,224]'; several with ; between.",
        metavar="INPUT",
    ),
    new_name: str | None = typer.Option(
        None, "--name", help="The new model's name; NAME-onnx when left out.", metavar="NAME"
    ),
    opset: int | None = typer.Option(None, "--opset", help="ONNX's operator set; the exporter's own when left out."),
    as_json: bool = AS_JSON,
) -> None:
    """Export a PyTorch or scikit-learn model to ONNX: in its own environment, checked against ONNX Runtime, registered."""
    given = onnx_samples.from_text(sample) if sample is not None else None
    model = find_model(session.workspace(), name)
    made = model.to_onnx(sample_input=given, opset=opset, name=new_name, show_output=not as_json)
    if as_json:
        rendering.as_json(codec.encode(made._record))
        return
    apart = made.properties.get("onnx.difference", "")
    print(f"Model {made.id}, made from {model.id}: ONNX Runtime gives the same numbers, {apart} apart at most.")
    print(f"Next\n  roost endpoint deploy SERVICE --model {made.id}")
