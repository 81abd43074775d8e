"""Environment, CondaDependencies and RunConfiguration: what people set, what is kept, what is refused and when."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from roost import (
    DEFAULT_CPU_IMAGE,
    DEFAULT_GPU_IMAGE,
    CondaDependencies,
    ContainerRegistry,
    DockerConfiguration,
    Environment,
    RunConfiguration,
    ScriptRunConfig,
)
from roost.domain.recipes import recipe
from roost_job.exceptions import UserErrorException

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
SEED = """
name: project_environment
channels:
- conda-forge
dependencies:
- python=3.6.2
- pip:
  - azureml-defaults
  - torch==1.6.0
  - future==0.17.1
  - -r more.txt
"""


def requirements(environment: Environment) -> list[str]:
    found = recipe(environment._definition())
    assert found is not None
    return [line for line in found.requirements if line not in ("pip", "setuptools", "wheel")]


class TestCondaDependencies:
    def test_by_default_the_python_that_asks(self) -> None:
        made = CondaDependencies()
        assert made.get_python_version() == HERE
        assert list(made.pip_packages) == ["azureml-defaults"]
        assert list(made.conda_packages) == [f"python={HERE}"]

    def test_created_and_changed(self) -> None:
        made = CondaDependencies.create(
            pip_packages=["numpy", "azureml-sdk"], conda_packages=["scikit-learn"], python_version="3.6.2"
        )
        assert list(made.pip_packages) == ["numpy", "azureml-sdk~=1.61.0"]
        assert list(made.conda_packages) == ["python=3.6.2", "scikit-learn"]
        made.add_pip_package("numpy==1.18")
        made.add_pip_package("torch[all]>=1")
        made.remove_pip_package("azureml-sdk")
        made.add_conda_package("scikit-learn=0.22")
        made.remove_conda_package("scikit_learn")
        made.add_channel("pytorch")
        made.set_python_version("3.8")
        made.set_pip_option("--pre")
        assert list(made.pip_packages) == ["numpy==1.18", "torch[all]>=1"]
        assert list(made.pip_options) == ["--pre"]
        assert list(made.conda_packages) == ["python=3.8"]
        assert list(made.conda_channels) == ["conda-forge", "pytorch"]
        made.add_tensorflow_conda_package("gpu", "2.2.0")
        assert "tensorflow-gpu=2.2.0" in list(made.conda_packages)

    def test_written_and_read_again(self, tmp_path: Path) -> None:
        made = CondaDependencies.create(pip_packages=["six", "--extra-index-url https://a.test"], pin_sdk_version=False)
        assert made.save_to_file(str(tmp_path), "conda.yml") == "conda.yml"
        again = CondaDependencies(conda_dependencies_file_path=tmp_path / "conda.yml")
        assert again.as_dict() == made.as_dict()
        assert "- six" in made.serialize_to_string()

    @pytest.mark.parametrize("text", ["- a list", "dependencies: 3", "dependencies: [{conda: []}, 3]", "a: [", ""])
    def test_a_file_that_is_no_conda_file(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "c.yml").write_text(text)
        with pytest.raises(UserErrorException, match=r"c\.yml"):
            CondaDependencies(tmp_path / "c.yml")

    def test_a_tab_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "c.yml").write_text("dependencies:\n\t- python=3.8\n")
        with pytest.raises(UserErrorException, match="is not YAML") as caught:
            CondaDependencies(tmp_path / "c.yml")
        assert "spaces" in caught.value.hint

    @pytest.mark.parametrize("given", [{"pip_packages": "numpy"}, {"conda_packages": "numpy"}])
    def test_a_text_is_no_list(self, given: dict[str, Any]) -> None:
        with pytest.raises(UserErrorException, match="must be a list"):
            CondaDependencies.create(**given)


class TestWhereItComesFrom:
    def test_the_seeds_conda_file(self, tmp_path: Path) -> None:
        (tmp_path / "conda.yml").write_text(SEED)
        (tmp_path / "more.txt").write_text("# why\npillow\n")
        made = Environment.from_conda_specification(name="pytorch-env", file_path=tmp_path / "conda.yml")
        assert requirements(made) == ["future==0.17.1", "pillow", "torch==1.6.0"]
        assert recipe(made._definition()).python == "3.6.2"  # type: ignore[union-attr]

    def test_a_requirements_file(self, tmp_path: Path) -> None:
        (tmp_path / "r.txt").write_text("six==1.16 \\\n  --hash=sha256:00\n-r sub/other.txt\n\n# no\n")
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "other.txt").write_text("idna\n")
        made = Environment.from_pip_requirements("mine", tmp_path / "r.txt", pip_version="20.1.1")
        assert recipe(made._definition()).python == HERE  # type: ignore[union-attr]
        assert requirements(made) == ["idna", "pip==20.1.1", "six==1.16    --hash=sha256:00"]

    def test_files_that_include_each_other(self, tmp_path: Path) -> None:
        (tmp_path / "r.txt").write_text("-r r.txt\n")
        with pytest.raises(UserErrorException, match="without end"):
            Environment.from_pip_requirements("mine", tmp_path / "r.txt")

    def test_what_cannot_be_read(self) -> None:
        with pytest.raises(UserErrorException, match=r"missing\.txt"):
            Environment.from_pip_requirements("mine", "missing.txt")
        with pytest.raises(UserErrorException, match=r"missing\.yml"):
            Environment.from_conda_specification("mine", "missing.yml")
        with pytest.raises(UserErrorException, match="conda environment 'base'"):
            Environment.from_existing_conda_environment("mine", "base")

    def test_a_file_that_is_not_there_has_a_way_on(self, tmp_path: Path) -> None:
        (tmp_path / "r.txt").write_text("-r missing.txt\n")
        with pytest.raises(UserErrorException, match=r"missing\.txt' cannot be read: No such file") as caught:
            Environment.from_pip_requirements("mine", tmp_path / "r.txt")
        assert "-r missing.txt" in caught.value.hint
        with pytest.raises(UserErrorException) as caught:
            Environment.from_pip_requirements("mine", tmp_path / "s.txt")
        assert "there are: r.txt" in caught.value.hint

    def test_an_image_has_its_own_python_unless_packages_are_named(self, tmp_path: Path) -> None:
        (tmp_path / "requirements.txt").write_text("six\n")
        (tmp_path / "Dockerfile").write_text("FROM ubuntu\n")
        packages = str(tmp_path / "requirements.txt")
        image = Environment.from_docker_image("mine", "ubuntu:22.04")
        file = Environment.from_dockerfile("mine", str(tmp_path / "Dockerfile"))
        assert image.python.user_managed_dependencies and file.python.user_managed_dependencies
        assert file._definition()["docker"]["baseDockerfile"] == "FROM ubuntu\n"
        made = Environment.from_docker_image("mine", "ubuntu:22.04", pip_requirements=packages)
        assert not made.python.user_managed_dependencies
        with pytest.raises(UserErrorException, match="no Dockerfile"):
            Environment.from_dockerfile("mine", str(tmp_path / "nowhere"))
        with pytest.raises(UserErrorException, match="ContainerRegistry"):
            Environment.from_docker_image("mine", "ubuntu", container_registry="registry.example")

    def test_a_password_is_in_no_definition(self, tmp_path: Path) -> None:
        registry = ContainerRegistry()
        registry.address, registry.username, registry.password = "registry.example", "ann", "very secret"
        made = Environment.from_docker_image("mine", "team/image:1", container_registry=registry)
        assert "very secret" not in repr(made) and "registry-registry-example-ann" in repr(made)
        assert registry.secrets() == {"registry-registry-example-ann": "very secret"}
        made.save_to_directory(tmp_path / "kept")
        loaded = Environment.load_from_directory(tmp_path / "kept")
        assert loaded.docker.base_image_registry.password is None
        assert loaded._definition() == made._definition()
        registry.username = None
        with pytest.raises(UserErrorException, match="no username"):
            made._definition()


class TestMoreOfCondaDependencies:
    def test_defaults_are_counted(self) -> None:
        made = CondaDependencies()
        count = len([*made.conda_packages, *made.pip_packages])
        assert CondaDependencies.get_default_number_of_packages() == count

    def test_requirements_are_merged(self) -> None:
        lines = ["numpy>=1.18", "numpy<2", "torch[all]", "pandas==1.0", "pandas==1.0"]
        assert CondaDependencies.merge_requirements(lines) == ["numpy>=1.18,<2", "torch[all]", "pandas==1.0"]

    def test_addresses_do_not_stand_in_for_each_other(self) -> None:
        made = CondaDependencies()
        lines = [
            "git+https://host.test/x",
            "git+https://host.test/y",
            "https://host.test/a.whl",
            "https://host.test/b.whl",
        ]
        for line in [*lines, "z @ https://host.test/z-1.whl", "z @ https://host.test/z-2.whl", lines[0]]:
            made.add_pip_package(line)
        kept = ["azureml-defaults", *lines[1:], "z @ https://host.test/z-2.whl", lines[0]]
        assert list(made.pip_packages) == kept
        made.remove_pip_package(lines[1])
        assert list(made.pip_packages) == [line for line in kept if line != lines[1]]
        for spec in ("conda-forge/label/a::p=1", "conda-forge/label/a::q", "https://host.test/c::r", "p=2"):
            made.add_conda_package(spec)
        assert list(made.conda_packages)[1:] == ["conda-forge/label/a::q", "https://host.test/c::r", "p=2"]

    def test_options_are_removed(self) -> None:
        made = CondaDependencies()
        made.set_pip_option("--extra-index-url https://a.example/simple")
        made.remove_pip_option("--extra-index-url")
        assert list(made.pip_options) == []

    def test_cntk_cannot_be_had(self) -> None:
        with pytest.raises(UserErrorException, match="CNTK"):
            CondaDependencies().add_cntk_package()


class TestEnvironment:
    def test_images(self) -> None:
        made = Environment("mine")
        assert (made.docker.enabled, made.docker.base_image) == (False, DEFAULT_CPU_IMAGE)
        made.docker.enabled = True
        made.docker.base_image = DEFAULT_GPU_IMAGE
        made.docker.base_image_registry.address = "registry.test"
        assert made._use().name == "mine", "an image of Azure's is built natively"
        made.docker.base_image_registry.password = "x"
        with pytest.raises(UserErrorException, match="password"):
            made._use()

    def test_container_arguments_are_a_list(self) -> None:
        made = Environment("mine")
        made.docker.arguments = "--ipc=host"
        for ask in (made._use, DockerConfiguration(arguments="--ipc=host").use):
            with pytest.raises(UserErrorException, match="must be a list, got '--ipc=host'") as caught:
                ask()
            assert caught.value.hint == "arguments=['--ipc=host']"

    def test_a_slip_of_the_pen(self) -> None:
        made = Environment("mine")
        with pytest.raises(UserErrorException, match="user_managed_dependencys") as caught:
            made.python.user_managed_dependencys = True  # type: ignore[attr-defined]
        assert caught.value.hint.startswith(
            "Did you mean 'user_managed_dependencies'? It has: base_conda_environment, "
        )
        assert "definition" not in caught.value.hint
        with pytest.raises(UserErrorException, match="conda_dependencies must be"):
            made.python.conda_dependencies = {}  # type: ignore[assignment]

    @pytest.mark.parametrize("call", [Environment.register, Environment.build])
    def test_what_is_no_workspace_is_refused(self, call: Any) -> None:
        with pytest.raises(UserErrorException, match="workspace must be a Workspace, got NoneType"):
            call(Environment("mine"), None)
        with pytest.raises(UserErrorException, match="workspace must be a Workspace, got str"):
            Environment.get("ws", "mine")  # type: ignore[arg-type]

    def test_cloned_and_apart(self) -> None:
        made = Environment("AzureML-like")
        made.version = "3"
        made.environment_variables["A"] = "1"
        other = made.clone(new_name="mine")
        other.environment_variables["A"] = "2"
        other.python.conda_dependencies.add_pip_package("six")
        assert (other.name, other.version) == ("mine", None)
        assert made.environment_variables == {"A": "1"}
        assert "six" not in list(made.python.conda_dependencies.pip_packages)

    def test_saved_and_loaded(self, tmp_path: Path) -> None:
        made = Environment("mine")
        made.python.conda_dependencies.add_pip_package("six")
        made.environment_variables["A"] = "1"
        made.docker.shm_size = "2g"
        made.save_to_directory(path=tmp_path / "env")
        assert {path.name for path in (tmp_path / "env").iterdir()} == {
            "azureml_environment.json",
            "conda_dependencies.yml",
        }
        assert json.loads((tmp_path / "env" / "azureml_environment.json").read_text())["name"] == "mine"
        assert repr(Environment.load_from_directory(tmp_path / "env")) == repr(made)
        with pytest.raises(UserErrorException, match="exists already"):
            made.save_to_directory(tmp_path / "env")
        made.environment_variables["A"] = "2"
        made.save_to_directory(tmp_path / "env", overwrite=True)
        assert Environment.load_from_directory(tmp_path / "env").environment_variables == {"A": "2"}
        with pytest.raises(UserErrorException, match="no environment"):
            Environment.load_from_directory(tmp_path)

    def test_a_conda_file_by_its_path_counts_when_it_is_used(self, tmp_path: Path) -> None:
        made = Environment("mine")
        made.python.conda_dependencies_file = tmp_path / "c.yml"
        (tmp_path / "c.yml").write_text("dependencies: [python=3.8, {pip: [idna]}]")
        assert requirements(made) == ["idna"]

    def test_spark_is_refused_when_used(self) -> None:
        made = Environment("mine")
        made.spark.precache_packages = False
        made._use()
        made.spark.packages = ["x"]
        with pytest.raises(UserErrorException, match="Spark"):
            made._use()


class TestRunConfiguration:
    def spec(self, **given: Any) -> Any:
        return ScriptRunConfig(".", script="train.py", **given).spec("")

    def test_nothing_set_means_the_python_that_submits(self) -> None:
        config = RunConfiguration()
        assert config.environment.name
        spec = self.spec(run_config=config)
        assert (spec.environment, spec.interpreter, spec.target) == (None, sys.executable, "local")

    @pytest.mark.parametrize(
        ("dependencies", "words"),
        [
            ([{"pip": ["six"]}], "does not say which Python"),
            (["python=3.8", {"pip": ["six=1.16"]}], "six=1.16"),
            (["python=banana"], "banana"),
        ],
    )
    def test_one_that_cannot_be_built_is_refused_before_it_is_registered(
        self, tmp_path: Path, dependencies: list[Any], words: str
    ) -> None:
        (tmp_path / "train.py").touch()
        made = Environment("mine")
        made.python.conda_dependencies = CondaDependencies(_underlying_structure={"dependencies": dependencies})
        with pytest.raises(UserErrorException, match=words):
            ScriptRunConfig(tmp_path, script="train.py", environment=made).check()

    def test_a_name_is_no_environment(self) -> None:
        with pytest.raises(UserErrorException, match="got str 'AzureML-Minimal'") as caught:
            ScriptRunConfig(".", script="train.py", environment="AzureML-Minimal")  # type: ignore[arg-type]
        assert "Environment.get(ws, 'AzureML-Minimal')" in caught.value.hint

    def test_what_is_set_counts(self) -> None:
        config = RunConfiguration(conda_dependencies=CondaDependencies.create(pip_packages=["six"]))
        config.target = type("Cluster", (), {"name": "gpu"})()
        config.environment_variables = {"A": "run"}
        config.environment.environment_variables = {"A": "env", "B": "env"}
        config.max_run_duration_seconds = 60
        spec = self.spec(run_config=config)
        assert (spec.target, spec.timeout_seconds) == ("gpu", 60.0)
        assert spec.environment_variables == {"A": "run", "B": "env"}
        assert spec.environment is not None

    def test_changed_in_place(self) -> None:
        config = ScriptRunConfig(".", script="train.py")
        config.run_config.target = "cluster"
        config.run_config.environment.python.user_managed_dependencies = True
        config.run_config.environment.python.interpreter_path = "/env/bin/python"
        spec = config.spec("")
        assert (spec.target, spec.interpreter) == ("cluster", "/env/bin/python")
        assert recipe(spec.environment.definition) is None  # type: ignore[union-attr]

    def test_script_and_arguments_may_stand_in_it(self) -> None:
        config = RunConfiguration(script="a.py", arguments=["--x", 1])
        made = ScriptRunConfig(".", run_config=config).spec("")
        assert (made.script, made.arguments) == ("a.py", ("--x", "1"))
        made = ScriptRunConfig(".", script="b.py", arguments=[], run_config=config).spec("")
        assert (made.script, made.arguments) == ("b.py", ())

    def test_beside_it_other_parameters_are_ignored_with_a_warning(self) -> None:
        with pytest.warns(UserWarning, match="compute_target, environment, distributed_job_config"):
            spec = self.spec(
                run_config=RunConfiguration(),
                compute_target="gpu",
                environment=Environment("mine"),
                distributed_job_config=object(),
            )
        assert (spec.target, spec.environment) == ("local", None)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("framework", "Cobol"),
            ("priority", "high"),
            ("docker", DockerConfiguration(use_docker=True, arguments=["--gpus"])),
        ],
    )
    def test_what_cannot_be_done_yet_is_refused_when_submitted(self, name: str, value: object) -> None:
        config = RunConfiguration()
        setattr(config, name, value)
        with pytest.raises(UserErrorException, match=f"`{name}" if name != "docker" else "'--gpus' has no value"):
            ScriptRunConfig(".", script="train.py", run_config=config).check()

    @pytest.mark.parametrize("name", ["PySpark", "pyspark", "Spark"])
    def test_spark_is_refused_with_the_way_on(self, name: str) -> None:
        config = RunConfiguration(framework=name)
        with pytest.raises(
            UserErrorException, match=f"'{name}' of RunConfiguration asks for a Spark cluster"
        ) as caught:
            ScriptRunConfig(".", script="train.py", run_config=config).check()
        assert "name pyspark among the packages" in str(caught.value)

    def test_history_is_kept_always(self) -> None:
        config = RunConfiguration(framework="PyTorch")
        config.history.output_collection = False
        with pytest.raises(UserErrorException, match="output_collection"):
            config.check()

    def test_docker_by_configuration(self) -> None:
        spec = self.spec(docker_runtime_config=DockerConfiguration(use_docker=True), environment=Environment("mine"))
        assert spec.environment is not None
        with pytest.raises(UserErrorException, match="DockerConfiguration"):
            self.spec(docker_runtime_config=object())

    def test_an_interpreter_that_is_not_there(self) -> None:
        made = Environment("mine")
        made.python.user_managed_dependencies = True
        assert self.spec(environment=made).interpreter == sys.executable
        made.python.interpreter_path = "no-such-python"
        with pytest.raises(UserErrorException, match="no-such-python"):
            self.spec(environment=made)
