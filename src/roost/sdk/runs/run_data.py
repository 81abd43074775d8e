"""The data that a configuration names, in arguments, in a command or in the run configuration, as records of the run."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from roost.domain.datasets import VARIABLE, Input, Output, token
from roost.domain.errors import InvalidInput

if TYPE_CHECKING:
    from roost.sdk.data.consumption import DatasetConsumptionConfig
    from roost.sdk.data.data_outputs import OutputFileDatasetConfig
    from roost.sdk.data.data_references import DataReference

DataOfRun: TypeAlias = "DatasetConsumptionConfig | OutputFileDatasetConfig | DataReference"

_PAGES = {
    "DatasetConsumptionConfig": "roost.sdk.data.consumption",
    "OutputFileDatasetConfig": "roost.sdk.data.data_outputs",
    "DataReference": "roost.sdk.data.data_references",
    "DataReferenceConfiguration": "roost.sdk.data.data_references",
    "AbstractDataset": "roost.sdk.data.datasets",
    "TabularDataset": "roost.sdk.data.tabular_datasets",
}
"""The modules with the kinds of data. A module that is not loaded has created no objects, so it is not loaded for the check."""


def _is(value: object, kind: str) -> bool:
    page = sys.modules.get(_PAGES[kind])
    return page is not None and isinstance(value, getattr(page, kind))


def is_data(value: object) -> TypeGuard[DataOfRun]:
    return any(_is(value, kind) for kind in ("DatasetConsumptionConfig", "OutputFileDatasetConfig", "DataReference"))


def refuse_dataset(where: str, value: object) -> None:
    if _is(value, "AbstractDataset"):
        raise InvalidInput(
            f"{where} is a {type(value).__name__}: a run must be told how it gets it.",
            hint="Give table.as_named_input('name')."
            if _is(value, "TabularDataset")
            else "Give dataset.as_mount(), dataset.as_download() or dataset.as_named_input('name').",
        )


def hint_for(value: object) -> str:
    """A hint for an argument that is neither text nor data."""
    page = sys.modules.get("roost.sdk.data.datastores")
    if page is not None and isinstance(value, page.Datastore):
        return f"Say which place of it: Datastore.get(workspace, {value.name!r}).path('images').as_mount()."
    return "Turn it into text first."


def texts(words: Iterable["str | DataOfRun"]) -> list[str]:
    """Each word as text; data becomes its token."""
    return [str(word) for word in words]


def collect(
    words: Sequence["str | DataOfRun"],
    data: Mapping[str, object],
    output_data: Mapping[str, object],
    references: Mapping[str, object],
    inside: Sequence[DataOfRun],
) -> tuple[tuple[Input, ...], tuple[Output, ...]]:
    """Inputs and outputs, each once; raises InvalidInput for two with the same name. `inside`: data whose tokens occur in a
    text. A reference's token is a variable: data given to the run under that name overrides data that was once put into a
    text."""
    given: list[Any] = [*inside]
    for word in words:
        given += _in_text(word) if isinstance(word, str) else [word]
    carried: list[Input | Output] = [value._carried() for value in given]
    for what, named in (("data", data), ("output_data", output_data), ("data_references", references)):
        if not isinstance(named, Mapping):
            raise InvalidInput(f"{what} of RunConfiguration must be a dict, got {type(named).__name__}.")
        carried += [_configured(f"{what}[{name!r}]", name, value) for name, value in named.items()]
    known = {each.name for each in carried}
    carried += [made for made in _references_in(words) if made.name not in known]
    inputs: dict[str, Input] = {}
    outputs: dict[str, Output] = {}
    for made in carried:
        other = inputs.get(made.name) or outputs.get(made.name)
        if other is not None and other != made:
            raise InvalidInput(
                f"Two inputs or outputs of the run are named {made.name!r}.", hint="Give each a name of its own."
            )
        if isinstance(made, Input):
            inputs[made.name] = made
        else:
            outputs[made.name] = made
    _check_tokens([word for word in words if isinstance(word, str)], {*inputs, *outputs})
    return tuple(inputs.values()), tuple(outputs.values())


def _configured(where: str, name: str, value: Any) -> Input | Output:
    """Data that the run configuration holds under a name."""
    refuse_dataset(where, value)
    found: Input | Output
    if _is(value, "DataReferenceConfiguration"):
        found = value._carried(name)
    elif is_data(value):
        found = value._carried()
    else:
        raise InvalidInput(
            f"{where} of RunConfiguration cannot be a {type(value).__name__}.",
            hint="Give what dataset.as_named_input('name') or datastore.path('place').as_mount() gives.",
        )
    return found


def _check_tokens(texts: Sequence[str], known: set[str]) -> None:
    """Checks that every data token in a text belongs to data of the run."""
    for text in texts:
        for name in re.findall(rf"{re.escape(token(''))}(\w+)", text):
            if name not in known:
                raise InvalidInput(
                    f"{token(name)!r} stands for data that the run is not given.",
                    hint="Put dataset.as_named_input(…) itself into `arguments`, or into run_config.data.",
                )
        for name in re.findall(rf"\$\{{?{VARIABLE}(\w+)", text, re.ASCII):
            if name not in known:
                raise InvalidInput(
                    f"'${VARIABLE}{name}' stands for data that the run is not given.",
                    hint="Put datastore.path(…).as_mount() itself into `arguments`, or its to_config() into "
                    "run_config.data_references.",
                )


def _in_text(text: str) -> list[Any]:
    return [each for each in _found(text) if not _is(each, "DataReference")]


def _references_in(words: Sequence["str | DataOfRun"]) -> list[Input | Output]:
    found = [each for word in words if isinstance(word, str) for each in _found(word)]
    return [each._carried() for each in found if _is(each, "DataReference")]


def _found(text: str) -> list[Any]:
    page = sys.modules.get(_PAGES["DatasetConsumptionConfig"])
    return list(page.found_in_text(text)) if page is not None else []
