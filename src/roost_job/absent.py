"""The parts of the Azure ML SDK v1 that Roost does not have: the only list of them, with one sentence about each name. The table
in docs/guides/from-azure-ml.md has the same rows, and a test compares the two.
"""

from typing import Any, Iterable, NamedTuple, Optional, Tuple

_CLUSTER = (
    "Make a cluster: AmlCompute.provisioning_configuration(max_nodes=4), or leave compute_target out for this machine."
)
_SERVE = "Model.deploy(workspace, name, [model], inference_config) serves a model without an image."
_PARQUET = (
    "Read it with to_pandas_dataframe(), or give the files to Spark or Dask: to_parquet_files() and from_parquet_files."
)
_DATABASE = (
    "Read the query with pandas, and use Dataset.Tabular.register_pandas_dataframe; passwords go to "
    "ws.get_default_keyvault()."
)


class Absent(NamedTuple):
    """`paths` are complete: a name, or a module or class with everything below it."""

    what: str
    paths: Tuple[str, ...]
    planned: bool
    instead: str


ABSENT = (
    Absent(
        "Hyperparameter sweeps",
        ("azureml.train.hyperdrive",),
        True,
        "Submit a run for each set of values with experiment.submit, and compare them: roost run compare.",
    ),
    Absent(
        "Pipelines",
        ("azureml.pipeline", "azureml.contrib.pipeline", "azureml.data.LinkTabularOutputDatasetConfig"),
        True,
        "Submit the steps one after another: what a run writes (OutputFileDatasetConfig) is an input of the next.",
    ),
    Absent(
        "MLflow clients",
        ("azureml.mlflow", "azureml.contrib.mlflow", "azureml.core.Workspace.get_mlflow_tracking_uri"),
        True,
        "Log with Run.get_context().log; models that MLflow saved can be registered and deployed.",
    ),
    Absent(
        "TensorBoard",
        ("azureml.tensorboard", "azureml.contrib.tensorboard"),
        True,
        "Bring the logs with run.download_files(prefix='logs'), and start: tensorboard --logdir logs.",
    ),
    Absent(
        "Automated machine learning",
        ("azureml.train.automl", "azureml.automl", "azureml.contrib.automl"),
        False,
        "Run a library that searches for models, such as FLAML, in a script of your own.",
    ),
    Absent(
        "Explanations and fairness",
        (
            "azureml.interpret",
            "azureml.explain",
            "azureml.contrib.interpret",
            "azureml.contrib.explain",
            "azureml.contrib.fairness",
            "azureml.responsibleai",
        ),
        False,
        "Use interpret-community, shap or fairlearn in the script, and keep what they make: run.upload_file.",
    ),
    Absent(
        "Data drift",
        ("azureml.datadrift", "azureml.contrib.datadrift"),
        False,
        "Compare the rows that azureml.monitoring.ModelDataCollector keeps with the training data, in a script.",
    ),
    Absent(
        "dataprep",
        ("azureml.dataprep", "azureml.data.dataset_factory.DataType.to_stream", "azureml.data.DataType.to_stream"),
        False,
        "Use Dataset.Tabular and its steps, or pandas.",
    ),
    Absent(
        "Compute of other clouds' services",
        (
            "azureml.core.compute.AdlaCompute",
            "azureml.core.compute.BatchCompute",
            "azureml.core.compute.DataFactoryCompute",
            "azureml.core.compute.DatabricksCompute",
            "azureml.core.compute.HDInsightCompute",
            "azureml.core.compute.KubernetesCompute",
            "azureml.core.compute.KustoCompute",
            "azureml.core.compute.SynapseCompute",
            "azureml.core.LinkedService",
            "azureml.core.databricks",
            "azureml.core.Workspace.linked_services",
        ),
        False,
        _CLUSTER,
    ),
    Absent(
        "Virtual machines of Azure",
        ("azureml.core.compute.ComputeInstance", "azureml.core.compute.DsvmCompute"),
        False,
        "Work on this machine; another one that runs are to be on is a host: docs/guides/compute.md.",
    ),
    Absent(
        "Images of services",
        (
            "azureml.core.Image",
            "azureml.core.image",
            "azureml.core.Workspace.images",
            "azureml.core.model.ModelPackage",
            "azureml.core.Model.package",
            "azureml.core.Webservice.deploy_from_image",
            "azureml.contrib.functions",
            "azureml.accel",
        ),
        False,
        _SERVE,
    ),
    Absent(
        "Addresses of a model's files",
        ("azureml.core.Model.get_sas_urls",),
        False,
        "model.download(target_dir) brings them here: they have no address that opens without a token.",
    ),
    Absent(
        "Spark and Dask",
        (
            "azureml.data.TabularDataset.to_spark_dataframe",
            "azureml.data.TabularDataset.to_dask_dataframe",
            "azureml.core.Dataset.Tabular.register_spark_dataframe",
            "azureml.core.Dataset.Tabular.register_dask_dataframe",
        ),
        False,
        _PARQUET,
    ),
    Absent(
        "Spark clusters",
        (
            "azureml.core.runconfig.HdiConfiguration",
            "azureml.core.runconfig.SparkConfiguration",
            "azureml.core.runconfig.SparkEnvironment",
            "azureml.core.runconfig.SparkSection",
            "azureml.core.runconfig.SynapseSparkConfiguration",
        ),
        False,
        "Name pyspark among the packages: SparkSession.builder.master('local[*]') runs in the run itself, on a node with Java.",
    ),
    Absent(
        "Azure's services around a workspace",
        (
            "azureml.core.Workspace.add_private_endpoint",
            "azureml.core.Workspace.delete_connection",
            "azureml.core.Workspace.delete_private_endpoint_connection",
            "azureml.core.Workspace.diagnose_workspace",
            "azureml.core.Workspace.discovery_url",
            "azureml.core.Workspace.get_connection",
            "azureml.core.Workspace.list_connections",
            "azureml.core.Workspace.list_keys",
            "azureml.core.Workspace.private_endpoints",
            "azureml.core.Workspace.service_context",
            "azureml.core.Workspace.set_connection",
            "azureml.core.Workspace.sync_keys",
            "azureml.core.Workspace.update_dependencies",
        ),
        False,
        "Leave it out: a workspace here has no such services; passwords go to ws.get_default_keyvault().",
    ),
    Absent(
        "Deleting a workspace",
        ("azureml.core.Workspace.delete",),
        False,
        "Delete what is in it: roost gc, roost run delete, roost model delete; an empty one takes no room.",
    ),
    Absent(
        "Labelled data as a dataset of torchvision",
        ("azureml.data.TabularDataset.to_torchvision",),
        False,
        "to_pandas_dataframe(file_handling_option=FileHandlingOption.DOWNLOAD) has a path and a label in each row.",
    ),
    Absent(
        "HDFS",
        (
            "azureml.data.FileDataset.as_hdfs",
            "azureml.data.OutputFileDatasetConfig.as_hdfs",
            "azureml.core.Datastore.register_hdfs",
            "azureml.core.Datastore.register_dbfs",
        ),
        False,
        "Use as_mount() or as_download(); a folder that is mounted on this machine: Datastore.register_folder; the object store "
        "behind it: Datastore.register_s3 and its like.",
    ),
    Absent(
        "Databases as datastores",
        (
            "azureml.core.Datastore.register_azure_sql_database",
            "azureml.core.Datastore.register_azure_postgre_sql",
            "azureml.core.Datastore.register_azure_my_sql",
            "azureml.core.Dataset.Tabular.from_sql_query",
        ),
        False,
        _DATABASE,
    ),
    Absent(
        "Azure file shares",
        ("azureml.core.Datastore.register_azure_file_share",),
        False,
        "Mount the share on the control plane's machine, and use Datastore.register_folder.",
    ),
    Absent(
        "Data Lake Storage Gen1",
        ("azureml.core.Datastore.register_azure_data_lake",),
        False,
        "Azure shut it down in 2024; its data is in Gen2 now: Datastore.register_azure_data_lake_gen2.",
    ),
    Absent(
        "Profiles of tables",
        (
            "azureml.data.TabularDataset.get_profile",
            "azureml.data.TabularDataset.get_profile_runs",
            "azureml.data.TabularDataset.submit_profile_run",
        ),
        False,
        "Describe the frame: to_pandas_dataframe().describe(include='all').",
    ),
    Absent(
        "Older forms of configuration",
        (
            "azureml.core.runconfig.Data",
            "azureml.core.runconfig.DataLocation",
            "azureml.core.runconfig.OutputData",
            "azureml.data.output_dataset_config.UploadOptions",
        ),
        False,
        "Give what it held: run_config.data = {'a': dataset.as_named_input('a').as_mount()}, output.as_upload(overwrite=True).",
    ),
    Absent(
        "Further open datasets",
        (
            "azureml.opendatasets.NoaaGfsWeather",
            "azureml.opendatasets.NoaaIsdWeather",
            "azureml.opendatasets.OjSalesSimulated",
            "azureml.opendatasets.PublicHolidays",
        ),
        False,
        "Make a dataset of the public addresses: Dataset.File.from_files(['https://…']).",
    ),
    Absent(
        "Reinforcement learning",
        ("azureml.contrib.train", "azureml.contrib.reinforcement_learning"),
        False,
        "Run Ray or another library in a script of several nodes.",
    ),
    Absent(
        "The designer",
        ("azureml.studio", "azureml.designer"),
        False,
        "Write the steps as scripts, and submit them.",
    ),
)


def find(path: str) -> Optional[Absent]:
    """The entry of a name, or of its package or class."""
    for each in ABSENT:
        if any(path == known or path.startswith(known + ".") for known in each.paths):
            return each
    return None


def fact(path: str, entry: Absent) -> str:
    return "Roost does not have `%s`%s." % (path, " yet; it is planned" if entry.planned else ", and none is planned")


def said(path: str) -> Tuple[str, str]:
    """The sentence about a name of the list, and the alternative."""
    entry = find(path)
    if entry is None:
        raise LookupError(path)
    return fact(path, entry), entry.instead


def unknown(name: str, owner: str, there: Iterable[Any]) -> str:
    """The sentence about an unknown name, with similar names."""
    import difflib  # only loaded for mistyped names

    near = difflib.get_close_matches(name, [str(each) for each in there if not str(each).startswith("_")], n=2)
    meant = " Did you mean %s?" % " or ".join("`%s`" % each for each in near) if near else ""
    return "%s has no `%s`.%s" % (owner, name, meant or " The guide `from-azure-ml` lists what Roost leaves out.")
