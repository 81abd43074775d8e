"""Open datasets from a mirror: one that lists as Azure does, and a plain web server with a list of its paths."""

import gzip
import io
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pandas
import pytest
from tests.shared.web import Web, serving

from azureml.opendatasets import MNIST, Diabetes, NycTlcGreen, NycTlcYellow
from roost import Workspace
from roost.domain.errors import InvalidInput, Unavailable
from roost.sdk.data import open_datasets


def parquet(**columns: object) -> bytes:
    made = io.BytesIO()
    pandas.DataFrame(columns).to_parquet(made, index=False)
    return made.getvalue()


def month(number: int) -> bytes:
    return parquet(
        lpepPickupDatetime=[datetime(2016, number, 1), datetime(2016, number, 20)], fare=[number, 20 + number]
    )


FILES = {
    "mnist/train-images-idx3-ubyte.gz": gzip.compress(b"train images"),
    "mnist/train-labels-idx1-ubyte.gz": gzip.compress(b"train labels"),
    "mnist/t10k-images-idx3-ubyte.gz": gzip.compress(b"test images"),
    "mnist/t10k-labels-idx1-ubyte.gz": gzip.compress(b"test labels"),
    "mnist/processed/train.csv": b"1,2,label\n3,4,7\n",
    "mnist/processed/test.csv": b"1,2,label\n5,6,8\n",
    "mlsamples/diabetes/part-0.parquet": parquet(AGE=[59, 48], Y=[151, 75]),
    "nyctlc/green/puYear=2016/puMonth=1/part-00.snappy.parquet": month(1),
    "nyctlc/green/puYear=2016/puMonth=2/part-00.snappy.parquet": month(2),
    "nyctlc/yellow/puYear=2016/puMonth=1/part-00.snappy.parquet": parquet(
        tpepPickupDateTime=[datetime(2016, 1, 2)], fare=[1.0]
    ),
}
CONTAINERS = ("mnist", "mlsamples", "nyctlc")


def inside(container: str, prefix: str = "") -> list[str]:
    names = [name.partition("/")[2] for name in FILES if name.startswith(f"{container}/")]
    return [name for name in names if name.startswith(prefix)]


def page(names: list[str], marker: str) -> bytes:
    blobs = "".join(f"<Blob><Name>{name}</Name></Blob>" for name in names)
    return f"<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker>{marker}</NextMarker></EnumerationResults>".encode()


@pytest.fixture(params=["a store", "a web server"])
def mirror(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    lists: dict[str, bytes] = {}
    for container in CONTAINERS:
        if request.param == "a web server":
            lists[f"{container}/index.txt"] = "".join(f"./{name}\n" for name in inside(container)).encode()
            continue
        for prefix in ("processed/", "diabetes/", *(f"{kind}/puYear=2016/" for kind in ("green", "yellow"))):
            names = inside(container, prefix)
            query = f"restype=container&comp=list&prefix={prefix.replace('/', '%2F').replace('=', '%3D')}"
            lists[f"{container}?{query}"] = page(names[:1], "next!1" if names[1:] else "")
            lists[f"{container}?{query}&marker=next%211"] = page(names[1:], "")
    with serving({**FILES, **lists}) as web:
        monkeypatch.setenv(open_datasets.VARIABLE, f"{web.url}/")
        yield web


@pytest.mark.slow
def test_from_a_mirror(home: Path, tmp_path: Path, mirror: Web) -> None:
    files = MNIST.get_file_dataset()
    made = files.download(str(tmp_path / "mnist"))
    assert sorted(Path(each).name for each in made) == sorted(inside("mnist")[:4])
    train = MNIST.get_tabular_dataset(dataset_filter="train").to_pandas_dataframe()
    assert train.to_dict("list") == {"1": [3], "2": [4], "label": [7]}
    assert len(MNIST.get_tabular_dataset().to_pandas_dataframe()) == 2
    diabetes = Diabetes.get_tabular_dataset().register(Workspace(), "diabetes")
    assert diabetes.drop_columns("Y").to_pandas_dataframe().to_dict("list") == {"AGE": [59, 48]}
    green = NycTlcGreen(datetime(2016, 1, 15), datetime(2016, 2, 1)).to_pandas_dataframe()
    assert green[["fare", "puYear", "puMonth"]].to_numpy().tolist() == [[21, 2016, 1], [2, 2016, 2]]
    some = NycTlcGreen(datetime(2016, 1, 1), datetime(2016, 3, 1), cols=["fare"], limit=5).to_pandas_dataframe()
    assert some.to_dict("list") == {"fare": [1]}
    assert len(NycTlcYellow.get_tabular_dataset(datetime(2016, 1, 1), datetime(2016, 1, 31)).to_pandas_dataframe()) == 1
    with pytest.raises(InvalidInput, match="has no data for that"):
        NycTlcGreen(datetime(2016, 3, 1), datetime(2016, 3, 2)).to_pandas_dataframe()


def test_what_they_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="dataset_filter must be one of all, train, test, got 'both'"):
        MNIST.get_file_dataset("both")
    with pytest.raises(InvalidInput, match="is after end_date"):
        NycTlcGreen(datetime(2017, 1, 1), datetime(2016, 1, 1))
    assert MNIST.get_file_dataset("test")._definition.sources[0].url.startswith(f"{open_datasets.PUBLIC}/mnist/t10k")
    monkeypatch.setenv(open_datasets.VARIABLE, "http://127.0.0.1:1")
    with pytest.raises(
        Unavailable, match=r"http://127\.0\.0\.1:1/mlsamples cannot be listed: Connection refused\."
    ) as caught:
        Diabetes.get_tabular_dataset()
    assert open_datasets.VARIABLE in caught.value.hint
    monkeypatch.setenv(open_datasets.VARIABLE, "/a/folder")
    with pytest.raises(Unavailable, match="no http:// or https:// address"):
        Diabetes.get_tabular_dataset()
