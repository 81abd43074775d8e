import pytest

from roost.domain import environments, recipes
from roost.domain.errors import InvalidInput
from roost.domain.recipes import BASICS, Recipe, recipe


def definition(*dependencies: object, **parts: object) -> dict[str, object]:
    return {"python": {"condaDependencies": {"dependencies": list(dependencies)}}, **parts}


def packages(*lines: str) -> list[str]:
    found = recipe(definition("python=3.8", {"pip": list(lines)}))
    assert found is not None
    return [line for line in found.requirements if line not in BASICS]


def test_what_is_installed_follows_from_the_definition() -> None:
    found = recipe(definition("python=3.6.2", {"pip": ["torch==1.6.0", "azureml-defaults", "pillow"]}))
    assert found == Recipe(python="3.6.2", requirements=("pillow", "torch==1.6.0", *BASICS))


def test_two_that_ask_for_the_same_have_one_key() -> None:
    one = recipe(definition("python=3.8", {"pip": ["a", "b==1"]}, name="one", environmentVariables={"A": "1"}))
    two = recipe(definition("pip", "python=3.8", {"pip": ["b==1", "a # why", "", "azureml-core~=1.2"]}, name="two"))
    assert one is not None
    assert two is not None
    assert one.key == two.key
    assert one.key != recipe(definition("python=3.9", {"pip": ["a", "b==1"]})).key  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "line",
    [
        "azureml-defaults==1.61.0",
        "azureml_core",
        "azureml-sdk[notebooks]>=1.15",
        "azureml-train-automl-client",
        "azureml_dataprep_native==14.1.0",
        "azureml-widgets",
        "azureml-mlflow",
        "AzureML-Telemetry",
        "azureml-tensorboard",
        "azureml-monitoring==0.1.0a21",
        "azureml-contrib-services",
    ],
)
def test_packages_that_roost_stands_for_are_left_out(line: str) -> None:
    assert packages(line, "six") == ["six"]


@pytest.mark.parametrize(
    "line",
    [
        "azureml-dataprep[pandas,fuse]",
        "azureml-dataprep[fuse]<1.6.0a,>=1.4.10a",
        "azureml_dataprep==2.3.0",
        "azureml-dataset-runtime",
        "azureml-dataset-runtime[pandas,fuse]~=1.2",
    ],
)
def test_packages_for_datasets_bring_what_tables_are_read_with(line: str) -> None:
    assert packages(line) == ["numpy", "pandas", "pyarrow"]
    assert packages(line, "Pandas==1.0.5", "numpy<1.19") == ["numpy<1.19", "Pandas==1.0.5", "pyarrow"], "yours win"


def test_any_other_azureml_package_is_named() -> None:
    with pytest.raises(InvalidInput, match="azureml-contrib-fairness"):
        packages("azureml-contrib-fairness==1.2")


@pytest.mark.parametrize("line", ["./mine", "/abs/mine.whl", "mine @ file:///x", "-e .", "--nonsense", "-c other.txt"])
def test_what_a_node_cannot_have_is_refused(line: str) -> None:
    with pytest.raises(InvalidInput):
        packages(line)


def test_options_come_first_and_are_kept() -> None:
    assert packages("zope", "--extra-index-url https://wheels.test", "Abc") == [
        "--extra-index-url https://wheels.test",
        "Abc",
        "zope",
    ]


@pytest.mark.parametrize(
    ("pip", "line"),
    [
        ("pip", "pip"),
        ("pip=20.1.1", "pip==20.1.1"),
        ("pip==19.0", "pip==19.0"),
        ("pip=20", "pip==20.*"),
        ("pip=20.2.*", "pip==20.2.*"),
        ("pip=20.2=py38_0", "pip==20.2"),
        ("pip>=20", "pip>=20"),
        ("pip >=19, <20", "pip>=19,<20"),
    ],
)
def test_pip_itself_may_be_a_conda_package(pip: str, line: str) -> None:
    found = recipe(definition("python=3.8", pip))
    assert found is not None
    assert sorted(found.requirements) == sorted([line, "setuptools", "wheel"])


def test_the_user_s_own_packages_need_no_recipe() -> None:
    assert recipe({"python": {"userManagedDependencies": True}}) is None


@pytest.mark.parametrize(
    "image", [None, "", "mcr.microsoft.com/azureml/openmpi3.1.2-cuda10.1-cudnn7-ubuntu18.04", "azureml/base:0.2.4"]
)
def test_azure_s_images_are_built_natively(image: str | None) -> None:
    assert recipe(definition("python=3.8", docker={"enabled": True, "baseImage": image})) is not None


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("=3.8", "3.8"),
        ("==3.8.*", "3.8"),
        ("=3.6.2", "3.6.2"),
        ("3.7", "3.7"),
        ("", ""),
        (">=3.7,<3.9", ">=3.7,<3.9"),
        (">3.6", ">3.6"),
    ],
)
def test_which_python(version: str, wanted: str) -> None:
    assert recipes.python_wanted(version) == wanted


def test_a_python_that_is_no_version() -> None:
    with pytest.raises(InvalidInput, match="newest"):
        recipes.python_wanted("=newest")


@pytest.mark.parametrize(
    ("found", "wanted", "fits"),
    [
        ((3, 6, 15), "3.6.2", True),
        ((3, 6, 15), "3.7", False),
        ((3, 8, 1), ">=3.7,<3.9", True),
        ((3, 9, 0), ">=3.7,<3.9", False),
        ((3, 12, 0), "", True),
        ((3, 10, 2), "!=3.10", False),
    ],
)
def test_whether_a_python_fits(found: tuple[int, ...], wanted: str, fits: bool) -> None:
    assert recipes.satisfies(found, wanted) is fits


@pytest.mark.parametrize("name", ["AzureML-mine", "azureml", "Microsoft-x"])
def test_reserved_names_are_refused_when_registering_only(name: str) -> None:
    assert environments.name(name) == name
    with pytest.raises(InvalidInput, match="curated"):
        environments.own_name(name)


@pytest.mark.parametrize("name", ["", "a/b", "-a", "a b", None, "x" * 256])
def test_names_that_are_none(name: object) -> None:
    with pytest.raises(InvalidInput):
        environments.name(name)


def test_what_is_not_as_a_name_says_is_part_of_the_recipe() -> None:
    plain = recipe(definition("python=3.8"))
    told = recipe(definition("python=3.8", notes=["No  GPU\nhere."]))
    assert plain is not None
    assert told is not None
    assert told.notes == ("No GPU here.",), "one line each"
    assert told.key != plain.key
    with pytest.raises(InvalidInput, match="notes"):
        recipe(definition("python=3.8", notes="text"))


def test_a_version_of_pip_that_says_nothing_to_pip() -> None:
    with pytest.raises(InvalidInput, match=r"pip '19\|20' is not understood"):
        recipe(definition("python=3.8", "pip 19|20"))
