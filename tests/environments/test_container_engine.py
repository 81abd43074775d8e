"""Looking for a container engine: sockets that are missing, silent, foreign, or one that answers (a few lines of HTTP here)."""

import http.server
import json
import os
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.environments.containers import engine as container_engine
from roost.environments.containers.engine import NoEngine

ANSWERS: dict[str, object] = {
    "/version": {"Version": "4.9", "Components": [{"Name": "Podman Engine"}]},
    "/info": {"SecurityOptions": ["name=seccomp", "name=rootless"]},
    "/images/sha256%3Aabc/json": {"Config": {"Env": ["PATH=/bin", "A=b=c"]}},
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = ANSWERS.get(self.path)
        body = json.dumps(found or {"message": "no such image"}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass

    def address_string(self) -> str:
        return ""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "engine.sock")
    with socketserver.ThreadingUnixStreamServer(path, Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield path
        server.shutdown()


def test_one_that_answers(engine: str) -> None:
    found = container_engine.find({"DOCKER_HOST": f"unix://{engine}"})
    assert (found.name, found.version, found.url) == ("Podman", "4.9", f"unix://{engine}")
    assert found.rootless and found.user == "0:0" and not found.has_detours
    assert found.variables("sha256:abc") == {"PATH": "/bin", "A": "b=c"}
    assert found.has("sha256:abc") and not found.has("sha256:other")


@pytest.mark.parametrize("detour", [{"HttpsProxy": "p"}, {"RegistryConfig": {"Mirrors": ["m"]}}])
def test_proxies_and_mirrors_of_its_own(
    engine: str, monkeypatch: pytest.MonkeyPatch, detour: dict[str, object]
) -> None:
    monkeypatch.setitem(ANSWERS, "/info", detour)
    found = container_engine.find({"DOCKER_HOST": f"unix://{engine}"})
    assert found.has_detours and not found.rootless and found.user == f"{os.getuid()}:{os.getgid()}"


def test_none_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(NoEngine, match=r"nobody\.sock: No such file") as caught:
        container_engine.find({"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"})
    assert "DOCKER_HOST" in caught.value.hint and caught.value.code == "no_container_engine"


@pytest.mark.parametrize("host", ["tcp://10.0.0.1:2375", "ssh://other"])
def test_another_machine_s_is_none(host: str) -> None:
    with pytest.raises(NoEngine, match="another machine"):
        container_engine.find({"DOCKER_HOST": host})


def test_the_usual_places() -> None:
    places = container_engine.places({"XDG_RUNTIME_DIR": "/run/me"})
    assert {"/var/run/docker.sock", "/run/podman/podman.sock", "/run/me/podman/podman.sock"} <= set(places)
    assert f"/run/user/{os.getuid()}/docker.sock" in container_engine.places({})
    assert container_engine.places({"CONTAINER_HOST": "unix:///x"}) == ["/x"]
