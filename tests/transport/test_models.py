"""The ops about models, over HTTP with the control plane's folder at hand and without it: carried, downloaded, placed."""

import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.shared.api_servers import ApiServer, served

from roost.domain.errors import DiskFull, InvalidInput, ModelConflict, ModelNotFound
from roost.transport.carrying import Carrier
from roost.transport.client import Client, Endpoint
from roost.transport.models import Models


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with served(tmp_path_factory.mktemp("api")) as made:
        (Path(made.context.facts.blob_folder) / f".roost-{made.context.facts.instance}").touch()
        yield made


@pytest.fixture(params=["near", "far"])
def models(request: pytest.FixtureRequest, api: ApiServer, tmp_path: Path) -> Iterator[Models]:
    client = Client(lambda: Endpoint(api.url, "person-token"))
    carrier = Carrier(client, tmp_path / "cache")
    if request.param == "far":
        carrier.shared = None
    assert (carrier.shared is not None) == (request.param == "near")
    yield Models(lambda: client, lambda: carrier, "vision")
    client.close()


def register(models: Models, name: str, key: str, **files: Path) -> dict[str, object]:
    given = [[name.replace("__", "/"), str(path)] for name, path in files.items()]
    made: dict[str, object] = models.ask("model_register", name=name, key=key, files=given)
    return made


@pytest.fixture
def net(models: Models, tmp_path: Path) -> dict[str, object]:
    (tmp_path / "small").write_text("small")
    (tmp_path / "large").write_bytes(b"large" * 100_000)
    (tmp_path / "small").chmod(0o755)
    key = secrets.token_hex(16)
    return register(models, f"net-{key}", key, n__a=tmp_path / "small", n__b__c=tmp_path / "large")


def test_downloaded(models: Models, net: dict[str, object], tmp_path: Path) -> None:
    asked = {"name": net["name"], "version": net["version"], "path": str(tmp_path / "here")}
    assert models.ask("model_download", **asked) == ["n/a", "n/b/c"]
    assert (tmp_path / "here/n/b/c").read_bytes() == b"large" * 100_000
    assert (tmp_path / "here/n/a").stat().st_mode & 0o777 == 0o755
    (tmp_path / "here/n/a").write_text("mine")
    (tmp_path / "here/n/b/c").unlink()
    with pytest.raises(ModelConflict, match="here/n/a"):
        models.ask("model_download", **asked)
    assert not (tmp_path / "here/n/b/c").exists() and (tmp_path / "here/n/a").read_text() == "mine"
    models.ask("model_download", **asked, exist_ok=True)
    assert (tmp_path / "here/n/a").read_text() == "small"
    assert not [path for path in (tmp_path / "here").rglob("*") if path.name.endswith(".part")]
    (tmp_path / "file").touch()
    with pytest.raises(DiskFull, match="cannot be written"):
        models.ask("model_download", **{**asked, "path": str(tmp_path / "file")})


def test_placed_once_by_many(models: Models, net: dict[str, object], tmp_path: Path) -> None:
    place = tmp_path / "azureml-models/net/1"
    place.mkdir(parents=True)  # an empty folder is nothing yet
    asked = {"name": net["name"], "version": net["version"], "path": str(place)}
    threads = [threading.Thread(target=lambda: models.ask("model_place", **asked)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()) == ["n/a", "n/b/c"]
    assert [path.name for path in place.parent.iterdir()] == ["1"]
    (place / "n/a").write_text("changed by the script")
    assert models.ask("model_place", **asked) == ["n/a", "n/b/c"]
    assert (place / "n/a").read_text() == "changed by the script", "what is there stays"


def test_nothing_is_written_through_a_link(models: Models, net: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here/n").symlink_to(tmp_path / "outside")
    asked = {"name": net["name"], "version": net["version"], "path": str(tmp_path / "here")}
    with pytest.raises(InvalidInput, match="is a link"):
        models.ask("model_download", **asked, exist_ok=True)
    assert not list((tmp_path / "outside").iterdir())
    (tmp_path / "there").symlink_to(tmp_path / "outside")  # a folder that is named itself may be one
    assert models.ask("model_download", **{**asked, "path": str(tmp_path / "there")}) == ["n/a", "n/b/c"]
    assert (tmp_path / "outside/n/a").read_text() == "small"


def test_what_cannot_be(models: Models, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(InvalidInput, match="cannot be read"):
        register(models, "net", "k" * 32, gone=tmp_path / "gone")
    with pytest.raises(InvalidInput, match="not allowed"):
        register(models, "../net", "k" * 32, a=tmp_path / "a")
    with pytest.raises(InvalidInput, match="climbs out"):
        models.ask("model_register", name="net", key="k" * 32, files=[["../a", str(tmp_path / "a")]])
    with pytest.raises(ModelNotFound):
        models.ask("model_download", name="none", version=1, path=str(tmp_path))
