"""What Roost does not have says so when it is asked for: one sentence for all of it, with what to do instead."""

from collections.abc import Callable
from typing import Any

import pytest

import roost
from roost import (
    Dataset,
    Datastore,
    Environment,
    FileDataset,
    Model,
    OutputFileDatasetConfig,
    TabularDataset,
    Webservice,
)
from roost.domain.datasets import Definition
from roost.sdk.core.absent import AbsentOfWorkspace
from roost_job import absent
from roost_job.exceptions import AzureMLException

TABLE = TabularDataset._of(Definition(), None)
FILES = FileDataset._of(Definition(), None)
USES: dict[str, Callable[[], Any]] = {
    "Workspace.get_mlflow_tracking_uri": lambda: AbsentOfWorkspace().get_mlflow_tracking_uri(),
    "TabularDataset.to_spark_dataframe": TABLE.to_spark_dataframe,
    "TabularDataset.to_dask_dataframe": TABLE.to_dask_dataframe,
    "TabularDataset.get_profile": TABLE.get_profile,
    "FileDataset.as_hdfs": FILES.as_hdfs,
    "OutputFileDatasetConfig.as_hdfs": OutputFileDatasetConfig().as_hdfs,
    "Tabular.register_spark_dataframe": lambda: Dataset.Tabular.register_spark_dataframe(None),
    "Tabular.register_dask_dataframe": lambda: Dataset.Tabular.register_dask_dataframe(None),
    "Tabular.from_sql_query": lambda: Dataset.Tabular.from_sql_query("select 1"),
    "Datastore.register_azure_sql_database": lambda: Datastore.register_azure_sql_database(None, "a", "b", "c"),
    "Datastore.register_azure_file_share": lambda: Datastore.register_azure_file_share(None, "a", "b", "c"),
    "Datastore.register_azure_data_lake": lambda: Datastore.register_azure_data_lake(None, "a", "b"),
    "Datastore.register_dbfs": lambda: Datastore.register_dbfs(None, "a"),
    "Datastore.register_hdfs": lambda: Datastore.register_hdfs(None, "a"),
    "Model.package": lambda: Model.package(None, []),
    "Webservice.deploy_from_image": lambda: Webservice.deploy_from_image(None, "a", None),
}


@pytest.mark.parametrize("name", USES)
def test_names_of_the_list_say_one_sentence(name: str) -> None:
    with pytest.raises(AzureMLException) as caught:
        USES[name]()
    entry = next(each for each in absent.ABSENT if any(path.endswith(f".{name}") for path in each.paths))
    ending = "yet; it is planned." if entry.planned else "and none is planned."
    assert caught.value.message.startswith("Roost does not have `azureml.") and caught.value.message.endswith(ending)
    assert f".{name}`" in caught.value.message and caught.value.hint == entry.instead


def test_kinds_of_compute_that_are_in_the_list_can_be_imported() -> None:
    paths = [path for each in absent.ABSENT for path in each.paths if path.startswith("azureml.core.compute.")]
    for path in paths:
        name = path.rpartition(".")[2]
        if name == "KustoCompute":
            continue  # the SDK had no such class to import at the top: it fails then, with the same words
        with pytest.raises(AzureMLException, match=f"Roost does not have `{path}`, and none is planned"):
            getattr(roost, name)(None, "target")
        with pytest.raises(AzureMLException, match=f"{name}.attach_configuration`, and none is planned"):
            getattr(roost, name).attach_configuration()


def test_every_entry_is_whole() -> None:
    paths = [path for each in absent.ABSENT for path in each.paths]
    assert len(set(paths)) == len(paths)
    for each in absent.ABSENT:
        assert (
            each.what and each.instead.endswith((".", ":")) and all(path.startswith("azureml.") for path in each.paths)
        )
    with pytest.raises(LookupError):
        absent.said("azureml.core.Workspace")


def test_a_mistyped_name_of_an_object() -> None:
    assert (
        absent.unknown("colunm", "Table", ["_columns", "column", "row"])
        == "Table has no `colunm`. Did you mean `column`?"
    )
    with pytest.raises(AttributeError, match="'Environment' object has no attribute 'pyhton'"):
        _ = Environment("x").pyhton  # type: ignore[attr-defined]
