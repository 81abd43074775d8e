"""Tags and properties: the limits hold for what a thing has in the end, whatever requests it came in."""

from collections.abc import Callable

import pytest
from tests.shared.contexts import ANN, submit, submit_interactive

from roost.domain import labels
from roost.domain.datasets import Definition, Source
from roost.domain.errors import InvalidInput
from roost.domain.files import Entry, write_manifest
from roost.services import datasets, experiments, models, runs
from roost.services.context import Context

Put = Callable[[dict[str, str]], object]
Remove = Callable[[list[str]], object]
LONG = "x" * labels.MAX_VALUE


def _run_tags(context: Context) -> tuple[Put, Remove]:
    run = submit(context)
    return (
        lambda tags: runs.annotate(context, ANN, run.id, runs.Changes(tags=tags)),
        lambda keys: runs.annotate(context, ANN, run.id, runs.Changes(remove_tags=tuple(keys))),
    )


def _run_properties(context: Context) -> tuple[Put, None]:
    run = submit_interactive(context)
    return lambda tags: runs.annotate(context, ANN, run.id, runs.Changes(properties=tags)), None


def _experiment(context: Context) -> tuple[Put, Remove]:
    experiments.ensure(context, ANN, "vision", "birds")
    return (
        lambda tags: experiments.change(context, ANN, "vision", "birds", experiments.Changes(tags=tags)),
        lambda keys: experiments.change(context, ANN, "vision", "birds", experiments.Changes(remove_tags=tuple(keys))),
    )


def _new_dataset(**fields: object) -> datasets.NewDataset:
    return datasets.NewDataset(definition=Definition(sources=(Source(url="http://h/x"),)), **fields)  # type: ignore[arg-type]


def _dataset(context: Context) -> tuple[Put, Remove]:
    made, _ = datasets.register(context, ANN, "vision", "d", _new_dataset())

    def change(tags: dict[str, str], gone: list[str]) -> object:
        return datasets.annotate(context, ANN, "vision", made.id, tags=tags, remove_tags=gone, description=None)

    return lambda tags: change(tags, []), lambda keys: change({}, keys)


def _dataset_again(context: Context) -> tuple[Put, None]:
    return lambda tags: datasets.register(context, ANN, "vision", "d", _new_dataset(tags=tags)), None


def _model(context: Context) -> tuple[Callable[..., object], None]:
    manifest = context.blobs.put(write_manifest([Entry("m", size=1, content=context.blobs.put(b"m"))]))
    models.register(context, ANN, "vision", models.NewModel(name="m", manifest=manifest, key="key00000001"))
    return lambda **given: models.change(context, ANN, "vision", "m", 1, models.ModelChanges(**given)), None


def _model_tags(context: Context) -> tuple[Put, Remove]:
    change, _ = _model(context)
    return lambda tags: change(tags=tags), lambda keys: change(remove_tags=tuple(keys))


def _model_properties(context: Context) -> tuple[Put, None]:
    change, _ = _model(context)
    return lambda tags: change(properties=tags), None


THINGS = [_run_tags, _run_properties, _experiment, _dataset, _dataset_again, _model_tags, _model_properties]


@pytest.mark.parametrize("thing", THINGS)
def test_limits_hold_for_all_requests_together(
    context: Context, thing: Callable[[Context], tuple[Put, Remove | None]]
) -> None:
    put, remove = thing(context)
    put({f"a{number}": "v" for number in range(600)})
    with pytest.raises(InvalidInput, match=r"There would be 1200 .*; at most 1000 are kept"):
        put({f"b{number}": "v" for number in range(600)})
    put({f"b{number}": "v" for number in range(400)})
    with pytest.raises(InvalidInput, match="at most 1000"):
        put({"one more": "v"})
    if remove is not None:
        remove(["a0"])
        put({"one more": "v"})


@pytest.mark.parametrize("thing", THINGS)
def test_bytes_count_too(context: Context, thing: Callable[[Context], tuple[Put, Remove | None]]) -> None:
    put, remove = thing(context)
    most = labels.MAX_BYTES // (labels.MAX_VALUE + 4)
    for number in range(most):
        put({f"k{number:03}": LONG})
    with pytest.raises(InvalidInput, match=r"together would have \d+ bytes; at most 262144 are kept"):
        put({"another": LONG})
    with pytest.raises(InvalidInput, match="at most 262144"):
        put({f"{number}": "ü" * 4096 for number in range(64)})
    if remove is not None:
        remove(["k000"])
        put({"another": LONG})


def test_a_thing_that_has_too_much_already_may_be_given_less() -> None:
    before = {str(number): LONG for number in range(2702)}
    labels.check_merged("tag", before, {str(number): LONG for number in range(2701)})
    labels.check_merged("tag", before, {**before, "0": "short"})
    with pytest.raises(InvalidInput):
        labels.check_merged("tag", before, {**before, "more": ""})
