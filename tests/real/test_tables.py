"""Tables of a few million rows, CSV and Parquet, read into the pandas of each Python's own time inside a job. Installs pandas and
pyarrow for each of them; uv keeps what it downloads.
"""

import json
import subprocess
from pathlib import Path

import numpy
import pandas
import pytest
from tests.shared.folders import tree
from tests.shared.interpreters import python

from roost import Dataset, Environment, Experiment, ScriptRunConfig, Workspace

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

ROWS = 3_000_000
SCRIPT = """
import json, os, resource, sys, time
import pandas
from azureml.core import Dataset, Run

run = Run.get_context()
table = run.input_datasets["table"]
began = time.time()
frame = table.to_pandas_dataframe()
took = time.time() - began
first, second = (part.to_pandas_dataframe() for part in table.keep_columns(["n"]).random_split(0.7, seed=1))
some = Dataset.get_by_name(run.experiment.workspace, "table").take(5).to_pandas_dataframe()
said = {
    "python": sys.version.split()[0], "pandas": pandas.__version__, "rows": len(frame), "columns": list(frame.columns),
    "types": [str(frame[name].dtype)[:8] for name in ("n", "x")], "sum": int(frame["n"].sum()),
    "first_day": str(frame["day"].min())[:10], "some": some["n"].tolist(), "seconds": round(took, 1),
    "split": len(first) + len(second), "disjoint": not set(first["n"]) & set(second["n"]),
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
}
print(said)
os.makedirs("outputs", exist_ok=True)
json.dump(said, open("outputs/said.json", "w"))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows in both forms, in two files each."""
    folder = tmp_path_factory.mktemp("tables")
    chance = numpy.random.RandomState(1)
    days = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(numpy.arange(ROWS) % 365, unit="D")
    words = pandas.Series(["alpha", "beta", "gamma"]).take(numpy.arange(ROWS) % 3).to_numpy()
    frame = pandas.DataFrame({"n": numpy.arange(ROWS), "x": chance.random_sample(ROWS), "word": words, "day": days})
    for number, rows in enumerate((frame[: ROWS // 2], frame[ROWS // 2 :])):
        rows.to_csv(folder / f"{number}.csv", index=False)
        rows.astype({"word": object}).to_parquet(folder / f"{number}.parquet", index=False)
    return folder


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("version", ["3.6", "3.8", "3.13"])
def test_millions_of_rows(
    version: str, form: str, made: Path, workspace: Workspace, experiment: Experiment, tmp_path: Path
) -> None:
    store = workspace.get_default_datastore()
    store.upload_files([str(each) for each in sorted(made.glob(f"*.{form}"))], target_path="rows", show_progress=False)
    place = (store, f"rows/*.{form}")
    table = (
        Dataset.Tabular.from_delimited_files(place, validate=False)
        if form == "csv"
        else Dataset.Tabular.from_parquet_files(place, validate=False)
    ).register(workspace, "table")
    environment = Environment(f"pandas-{version}")
    environment.python.conda_dependencies.set_python_version(_exact(version))
    for package in ("azureml-defaults", "pandas", "pyarrow"):
        environment.python.conda_dependencies.add_pip_package(package)
    source = tree(tmp_path / "source", {"train.py": SCRIPT})
    config = ScriptRunConfig(
        str(source), script="train.py", arguments=[table.as_named_input("table")], environment=environment
    )
    run = experiment.submit(config)
    run.wait_for_completion(show_output=True)
    run.download_file("outputs/said.json", "said.json")
    said = json.loads(Path("said.json").read_text())
    assert said["python"].startswith(version)
    assert (said["rows"], said["columns"]) == (ROWS, ["n", "x", "word", "day"])
    assert said["types"] == ["int64", "float64"]
    assert said["sum"] == ROWS * (ROWS - 1) // 2
    assert said["first_day"] == "2020-01-01"
    assert said["some"] == [0, 1, 2, 3, 4]
    assert (said["split"], said["disjoint"]) == (ROWS, True)


def _exact(version: str) -> str:
    """The version of the interpreter that is here, so that none has to come."""
    answer = subprocess.run([python(version), "--version"], capture_output=True, text=True, check=True)
    return answer.stdout.split()[1]
