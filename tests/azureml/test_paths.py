"""Import paths of the Azure ML SDK v1: which names there are, where they come from, and what is said of the others."""

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from tests.shared.interpreters import each_python, python

import azureml.core
import azureml.core.compute_target
import azureml.exceptions
import roost
import roost_job.exceptions
from azureml import _lending
from roost_job.scoring import rawhttp
from roost_job.tracking.offline import _OfflineRun

PATHS = {
    "azureml.core": ["Workspace", "Experiment", "ScriptRunConfig", "Run"],
    "azureml.core.run": ["Run"],
    "azureml.core.workspace": ["Workspace"],
    "azureml.core.keyvault": ["Keyvault"],
    "azureml.core.authentication": [
        "AbstractAuthentication",
        "Audience",
        "AzureCliAuthentication",
        "InteractiveLoginAuthentication",
        "MsiAuthentication",
        "ServicePrincipalAuthentication",
        "TokenAuthentication",
    ],
    "azureml.core.experiment": ["Experiment"],
    "azureml.core.script_run_config": ["ScriptRunConfig"],
    "azureml.core.compute": ["ComputeTarget", "AmlCompute", "RemoteCompute", "AksCompute", "ComputeInstance"],
    "azureml.core.compute.compute": ["ComputeTarget"],
    "azureml.core.compute.amlcompute": ["AmlCompute", "AmlComputeStatus", "ScaleSettings"],
    "azureml.core.compute.aks": ["AksCompute", "AksProvisioningConfiguration"],
    "azureml.core.compute.remote": ["RemoteCompute"],
    "azureml.core.compute_target": ["ComputeTarget"],
    "azureml.data": ["DataType", "FileDataset", "TabularDataset", "OutputFileDatasetConfig"],
    "azureml.data.output_dataset_config": ["OutputFileDatasetConfig"],
    "azureml.core.runconfig": ["RunConfiguration"],
    "azureml.widgets": ["RunDetails"],
    "azureml.core.model": ["InferenceConfig", "Model"],
    "azureml.core.resource_configuration": ["ResourceConfiguration"],
    "azureml.core.webservice": [
        "Webservice",
        "AciWebservice",
        "AksWebservice",
        "AksEndpoint",
        "LocalWebservice",
    ],
    "azureml.core.webservice.aci": ["AciWebservice", "AciServiceDeploymentConfiguration"],
    "azureml.core.webservice.aks": [
        "AksWebservice",
        "AksEndpoint",
        "AksServiceDeploymentConfiguration",
        "LivenessProbeRequirements",
    ],
    "azureml.core.webservice.local": ["LocalWebservice", "LocalWebserviceDeploymentConfiguration"],
    "azureml.core.webservice.webservice": ["Webservice", "WebserviceDeploymentConfiguration", "AutoScaler"],
    "azureml.core.profile": ["ModelProfile"],
}


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, names in PATHS.items() for name in names])
def test_with_the_sdk_each_name_is_the_sdks(path: str, name: str) -> None:
    assert getattr(importlib.import_module(path), name) is getattr(roost, name)


def test_names_beside() -> None:
    from azureml.core.run import _OfflineRun as Offline
    from azureml.core.run import _SubmittedRun
    from azureml.core.script_run import ScriptRun

    assert Offline is _OfflineRun
    assert _SubmittedRun is ScriptRun is roost.Run
    assert tuple(map(int, azureml.core.VERSION.split("."))) >= (1, 15, 0)
    assert azureml.core.__version__ == azureml.core.VERSION


def test_the_limit_that_scripts_lift_can_be_set() -> None:
    client = importlib.import_module("azureml._restclient.snapshots_client")
    assert client.SNAPSHOT_MAX_SIZE_BYTES == 300 * 1024 * 1024
    assert client.__name__ == "azureml._restclient.snapshots_client"


def test_every_exception_has_its_path() -> None:
    classes = [each for each in vars(roost_job.exceptions).values() if isinstance(each, type)]
    ours = [each for each in classes if issubclass(each, BaseException)]
    assert len(ours) > 8
    for each in ours:
        assert getattr(azureml.exceptions, each.__name__) is each
    assert azureml.core.compute_target.ComputeTargetException is roost_job.exceptions.ComputeTargetException
    assert (
        importlib.import_module("azureml._common.exceptions").AzureMLException is roost_job.exceptions.AzureMLException
    )


PLANNED, NOT = " yet; it is planned.\nhint: ", ", and none is planned.\nhint: "


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("from azureml.core import Nothing", "`azureml.core` has no `Nothing`."),
        ("from azureml.core import Run, Nothing", "`azureml.core` has no `Nothing`."),
        ("from azureml.core import Worksapce", "`azureml.core` has no `Worksapce`. Did you mean `Workspace`"),
        ("from azureml.core.compute import AmlComptue", "has no `AmlComptue`. Did you mean `AmlCompute`"),
        ("from azureml.core.run import Nothing", "`azureml.core.run` has no `Nothing`."),
        ("from azureml.exceptions import Nothing", "`azureml.exceptions` has no `Nothing`."),
        ("import azureml.cor", "`azureml` has no `cor`. Did you mean `core`"),
        ("import azureml.core.compte", "`azureml.core` has no `compte`. Did you mean `compute`"),
        ("import azureml.pipeline", f"Roost does not have `azureml.pipeline`{PLANNED}"),
        ("from azureml import pipeline", f"Roost does not have `azureml.pipeline`{PLANNED}"),
        ("from azureml.pipeline.core import Pipeline", f"Roost does not have `azureml.pipeline`{PLANNED}"),
        ("import azureml.train.automl", f"Roost does not have `azureml.train.automl`{NOT}"),
        ("from azureml.core.compute import KustoCompute", f"azureml.core.compute.KustoCompute`{NOT}"),
        ("from azureml.train.hyperdrive.sampling import X", f"`azureml.train.hyperdrive.sampling`{PLANNED}"),
    ],
)
def test_what_is_not_there_says_so(line: str, said: str) -> None:
    with pytest.raises(ImportError) as caught:
        exec(line, {})
    assert said in str(caught.value)


def test_asking_for_an_attribute() -> None:
    assert not hasattr(azureml.core, "Nothing")
    with pytest.raises(AttributeError, match=r"`azureml\.core` has no `Nothing`\. The guide"):
        _ = azureml.core.Nothing
    with pytest.raises(AttributeError, match="Did you mean `Workspace`"):
        _ = azureml.core.Worksapce
    with pytest.raises(AttributeError, match=r"Roost does not have `azureml\.pipeline` yet; it is planned"):
        _ = azureml.pipeline  # type: ignore[attr-defined]
    assert {"Workspace", "Run", "VERSION"} <= set(dir(azureml.core))


IMPORTS = "import azureml.core\nimport urllib\n"
BROUGHT = (
    "azureml.data.datapath.DataPath",
    "azureml.data.dataset_factory",
    "azureml.exceptions.UserErrorException",
    "azureml.exceptions.DatasetTimestampMissingError",
    "azureml.core.compute.compute",
    "azureml.core.model.Model",
    "azureml.core.run.Run",
    "azureml.train.dnn",
    "azureml.train.hyperdrive",
    "azureml.widgets",
    "azureml.contrib.services.aml_request",
    "azureml.data.__version__ == azureml.core.VERSION",
    'urllib.parse.quote("/")',
    "urllib.request.urlretrieve",
    "urllib.error.URLError",
    'not hasattr(urllib, "nothing")',
    'not hasattr(azureml, "__wrapped__")',
)


@pytest.mark.parametrize("name", BROUGHT)
def test_names_that_the_sdk_brought_along(name: str) -> None:
    """With no import of their own, each in a Python that has asked for nothing else."""
    command = [sys.executable, "-W", "error", "-c", f"{IMPORTS}assert {name}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", ["azureml.core", "azureml.core.image", "azureml.core.image.container"])
def test_images_are_left_out_and_say_what_to_do_instead(path: str) -> None:
    module = importlib.import_module(path)
    image = module.ContainerImage if path.endswith("container") else module.Image
    with pytest.raises(roost_job.exceptions.UserErrorException, match=", and none is planned") as caught:
        image.create(None)
    assert "Model.deploy" in caught.value.hint


def test_raw_http_is_the_job_librarys() -> None:
    request = importlib.import_module("azureml.contrib.services.aml_request")
    response = importlib.import_module("azureml.contrib.services.aml_response")
    assert request.AMLRequest is rawhttp.AMLRequest
    assert request.rawhttp is rawhttp.rawhttp
    assert response.AMLResponse is rawhttp.AMLResponse


@pytest.mark.parametrize(
    ("line", "use"),
    [
        ("from azureml.train.hyperdrive import PrimaryMetricGoal, choice", "choice(1, 2)"),
        ("import azureml.mlflow", "azureml.mlflow.get_portal_url(None)"),
    ],
)
def test_modules_that_notebooks_import_at_their_top(line: str, use: str) -> None:
    names: dict[str, object] = {}
    exec(line, names)
    with pytest.raises(roost_job.exceptions.UserErrorException, match="yet; it is planned"):
        exec(use, names)


@pytest.mark.parametrize("text", ["import azureml.core", "import azureml.core.run, azureml.exceptions"])
def test_the_sdk_is_not_loaded_before_a_name_is_used(text: str) -> None:
    check = f"import sys; {text}; sys.exit([name for name in sys.modules if name.partition('.')[0] == 'roost'] or 0)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_names_of_every_script_load_nothing_that_only_a_deed_needs() -> None:
    """The import budget: what costs milliseconds is loaded by those who submit, log, ask or download."""
    heavy = {"http.client", "ssl", "subprocess", "yaml", "tempfile", "logging", "html", "difflib", "concurrent.futures"}
    heavy |= {"secrets", "random"}
    ours = {f"roost.sdk.environments.{name}" for name in ("environments", "conda_dependencies", "sections")}
    ours |= {f"roost.sdk.runs.{name}" for name in ("git", "snapshots", "interactive")}
    dear = heavy | ours | {"roost.domain.recipes"}
    assert all(importlib.util.find_spec(name) for name in dear), "a module has moved"
    text = "import sys; from azureml.core import Experiment, Run, ScriptRunConfig, Workspace; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert dear.isdisjoint(done.stdout.split()), dear.intersection(done.stdout.split())


def test_a_broken_sdk_is_named_and_the_job_library_serves(tmp_path: Path) -> None:
    """A `roost` on the path whose dependencies are not: jobs go on, and what needs it says why."""
    source = Path(_lending.__file__).parents[1]
    for package in ("azureml", "roost_job"):
        (tmp_path / package).symlink_to(source / package)
    (tmp_path / "roost.py").write_text("import a_package_that_is_not_there")
    text = (
        "import azureml.core as core, roost_job.run\n"
        "assert core.Run is roost_job.run.Run\n"
        "try: core.Workspace.from_config()\n"
        "except Exception as error: print(error)\n"
    )
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{text}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "cannot be imported here: No module named 'a_package_that_is_not_there'" in done.stdout


@each_python
def test_the_same_answers_without_the_sdk(version: str, tmp_path: Path) -> None:
    source = Path(_lending.__file__).parents[1]
    for package in ("azureml", "roost_job"):
        (tmp_path / package).symlink_to(source / package)
    lines = ["from azureml.core import Nothing", "import azureml.pipeline", "from azureml.core.run import Nothing"]
    data = {
        "azureml.core": "Dataset Datastore",
        "azureml.core.dataset": "Dataset",
        "azureml.core.datastore": "Datastore",
        "azureml.data": "DataType FileDataset TabularDataset",
        "azureml.data.abstract_dataset": "AbstractDataset",
        "azureml.data.abstract_datastore": "AbstractDatastore",
        "azureml.data.azure_storage_datastore": "AzureBlobDatastore AzureFileDatastore",
        "azureml.data.data_reference": "DataReference",
        "azureml.data.datapath": "DataPath DataPathComputeBinding",
        "azureml.data.dataset_factory": "FileDatasetFactory TabularDatasetFactory DataType PromoteHeadersBehavior FileEncoding",
        "azureml.data.dataset_type_definitions": "PromoteHeadersBehavior FileEncoding",
    }
    asserted = "\n".join(f"assert {name}" for name in BROUGHT)
    text = (
        f"{IMPORTS}{asserted}\n"
        "import azureml.core, azureml.core.run, azureml.core.script_run, roost_job.run\n"
        "from azureml.core import *\n"
        "assert Run is azureml.core.run.Run is azureml.core.script_run.ScriptRun is roost_job.run.Run\n"
        "assert not hasattr(azureml.core, 'Nothing')\n"
        "import importlib\n"
        f"for path, names in {data!r}.items():\n"
        "    for name in names.split():\n"
        "        found = getattr(importlib.import_module(path), name)\n"
        "        assert found.__module__.startswith('roost_job.'), (path, name)\n"
        f"for line in {lines!r}:\n"
        "    try: exec(line)\n"
        "    except ImportError as error: print(error)\n"
    )
    command = [python(version), "-W", "error", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{text}"]
    env = {"PYTHONDONTWRITEBYTECODE": "1", "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if not line.startswith("hint: ")]
    assert [line.partition(". ")[0].rstrip(".") for line in told] == [
        "`azureml.core` has no `Nothing`",
        "Roost does not have `azureml.pipeline` yet; it is planned",
        "`azureml.core.run` has no `Nothing`",
    ]


def test_errors_of_data_are_the_callers() -> None:
    paths = importlib.import_module("azureml.data.dataset_error_handling")
    for name in ("DatasetValidationError", "DatasetExecutionError"):
        assert getattr(paths, name) is roost_job.exceptions.UserErrorException


@pytest.mark.parametrize(
    ("path", "name", "hint"),
    [
        ("azureml.data.output_dataset_config", "UploadOptions", "output.as_upload("),
        ("azureml.core.runconfig", "Data", "run_config.data = {"),
    ],
)
def test_options_that_are_left_out_say_what_to_give(path: str, name: str, hint: str) -> None:
    left_out = getattr(importlib.import_module(path), name)
    with pytest.raises(roost_job.exceptions.UserErrorException, match=", and none is planned") as caught:
        left_out("x")
    assert hint in caught.value.hint
