"""Where a workspace's configuration is found, and what is said of one that is wrong."""

import json
from pathlib import Path

import pytest

from roost.domain.errors import InvalidInput
from roost.sdk.core import configs
from roost_job.exceptions import UserErrorException

GOOD = {"subscription_id": "s", "resource_group": "g", "workspace_name": "vision"}


def write(path: Path, content: object = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(GOOD if content is None else content))
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project" / "notebooks"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


class TestFind:
    def test_dot_azureml_of_a_parent_comes_before_a_plain_file_here(self, here: Path) -> None:
        write(here / "config.json")
        wanted = write(here.parent / ".azureml" / "config.json")
        assert configs.find(None, None) == wanted

    def test_the_nearest_of_one_kind(self, here: Path) -> None:
        write(here.parent / ".azureml" / "config.json")
        wanted = write(here / ".azureml" / "config.json")
        assert configs.find(None, None) == wanted

    def test_aml_config_then_plain_then_project_json(self, here: Path) -> None:
        oldest = write(here / "project.json")
        assert configs.find(None, None) == oldest
        plain = write(here / "config.json")
        assert configs.find(None, None) == plain
        older = write(here.parent / "aml_config" / "config.json")
        assert configs.find(None, None) == older

    def test_a_plain_file_of_another_program_is_passed_over(self, here: Path) -> None:
        write(here / "config.json", {"model_type": "bert"})
        assert configs.find(None, None) is None

    def test_a_path_may_be_a_file_or_a_folder(self, here: Path, tmp_path: Path) -> None:
        file = write(tmp_path / "elsewhere" / "mine.json")
        assert configs.find(str(file), None) == file
        wanted = write(tmp_path / "elsewhere" / ".azureml" / "other.json")
        assert configs.find(str(tmp_path / "elsewhere"), "other.json") == wanted

    def test_a_path_that_is_not_there(self, here: Path) -> None:
        with pytest.raises(InvalidInput, match=r"nowhere\.json"):
            configs.find("nowhere.json", None)


class TestRead:
    def test_azures_own_format_with_more_in_it(self, tmp_path: Path) -> None:
        config = configs.read(write(tmp_path / "config.json", {**GOOD, "tenant_id": "t"}))
        assert (config.workspace_name, config.resource_group, config.subscription_id) == ("vision", "g", "s")

    def test_a_byte_order_mark(self, tmp_path: Path) -> None:
        file = tmp_path / "config.json"
        file.write_text(json.dumps(GOOD), encoding="utf-8-sig")
        assert configs.read(file).workspace_name == "vision"

    def test_the_older_address(self, tmp_path: Path) -> None:
        scope = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ML/workspaces/vision/projects/p"
        assert configs.read(write(tmp_path / "project.json", {"Scope": scope})).workspace_name == "vision"

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("{not json", "is not valid JSON"),
            ("[]", "must hold a JSON object"),
            ({"subscription_id": "s", "resource_group": "g"}, "has no 'workspace_name'"),
            ({**GOOD, "resource_group": 7}, "'resource_group'"),
            ({**GOOD, "workspace_name": "a/b"}, "'workspace_name'"),
        ],
    )
    def test_what_is_wrong_is_named(self, content: object, said: str, tmp_path: Path) -> None:
        file = write(tmp_path / "config.json", content)
        with pytest.raises(UserErrorException) as raised:
            configs.read(file)
        assert said in raised.value.message
        assert str(file) in raised.value.message
