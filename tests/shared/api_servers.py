"""The API, served for real on a loopback port in a thread of the test, with a context of the test's own."""

import asyncio
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.shared.clients import Client
from tests.shared.contexts import make_house

from roost.api import doors
from roost.api.app import create_app
from roost.api.doors import RouteFacts
from roost.api.guard import host_headers
from roost.server.serving import Server
from roost.services import people
from roost.services.context import Context
from roost.studio import pages

BLOB = "ab" * 32


@dataclass(frozen=True)
class ApiServer:
    context: Context
    url: str
    person: Client
    stranger: Client
    server: Server

    def run_client(self, run_id: str) -> Client:
        """A client with the token of this run."""
        return Client(self.url, people.mint_run_token(self.context, run_id, user="ann"))


@contextmanager
def served(folder: Path) -> Iterator[ApiServer]:
    context = make_house(folder)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    ready = threading.Event()
    server = _Server(context, host_headers((), port), ready.set)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
    thread.start()
    assert ready.wait(20)
    people.admit_person(context, "person-token", user="ann")
    url = f"http://127.0.0.1:{port}"
    yield ApiServer(context, url, Client(url, "person-token"), Client(url), server)
    server.end()
    thread.join(20)
    assert not thread.is_alive()
    context.store.close()
    listener.close()


def routes(api: ApiServer) -> list[tuple[str, str, RouteFacts]]:
    """Every route that is served, with its sign."""
    return doors.served(create_app(api.context, hosts=frozenset(), stop=lambda: None, pages=(pages.router,)))


def signed_in(api: ApiServer) -> dict[str, str]:
    """The headers of a browser that is signed in and sends a request from our page."""
    code = api.person.post("/api/sessions").json["code"]
    cookie = api.stranger.get(f"/login?code={code}").headers["set-cookie"].partition(";")[0]
    return {"Cookie": cookie, "Origin": api.url}


def address(path: str, run_id: str, workspace: str = "vision") -> str:
    """A route's path with something in each of its places."""
    path = path.replace("{run_id}", run_id)
    known = {"workspace": workspace, "name": BLOB if "/blobs/" in path else "nothing", "spool": "s"}
    return re.sub(r"\{(\w+)(:path)?\}", lambda found: known.get(found[1], "nothing"), path)


class _Server(Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # signals belong to the process, and this one is a thread of it
