"""Many deeds at once: in order, and ended together."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from roost.transport.parallel import Look, in_parallel

SCRIPT = """
import sys
from pathlib import Path
from roost.transport import storing
from roost.transport.client import Client, Endpoint

client = Client(lambda: Endpoint(sys.argv[1], "token"))
files = [(f"big/{index}", Path(sys.argv[2])) for index in range(20)]
try:
    storing.store(client, "default", "workspaceblobstore", files)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_each_in_its_place() -> None:
    seen: set[str] = set()

    def deed(thing: int, look: Look) -> int:
        look()
        seen.add(threading.current_thread().name)
        time.sleep(0.01 * (thing % 3))
        return thing * 2

    assert in_parallel(deed, list(range(30)), 4, "roost-test") == [2 * each for each in range(30)]
    assert seen == {f"roost-test-{place}" for place in range(4)}
    assert in_parallel(deed, [], 4, "roost-test") == []


def test_an_error_of_one_breaks_off_the_others() -> None:
    begun: list[int] = []
    both = threading.Barrier(2)

    def deed(thing: int, look: Look) -> None:
        begun.append(thing)
        both.wait(60)
        if thing == 1:
            raise LookupError("one")
        for _ in range(6000):
            look()
            time.sleep(0.01)

    with pytest.raises(LookupError, match="one"):
        in_parallel(deed, list(range(10)), 2, "roost-test")
    assert sorted(begun) == [0, 1]
    assert not [each for each in threading.enumerate() if each.name.startswith("roost-test")]


def test_ctrl_c_ends_what_is_being_sent(tmp_path: Path) -> None:
    """The control plane here takes some bytes of each file and then stalls, as one behind a slow line does."""
    with (tmp_path / "large").open("wb") as file:
        os.truncate(file.fileno(), 64 * 1024 * 1024)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        words = [sys.executable, "-c", SCRIPT, url, str(tmp_path / "large")]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            server.settimeout(60)
            taken = [server.accept()[0] for _ in range(4)]
            try:
                assert all(each.recv(65536) for each in taken)
                process.send_signal(signal.SIGINT)
                at = time.monotonic()
                assert process.communicate(timeout=30)[0] == "interrupted\n"
                assert time.monotonic() - at < 5
                server.settimeout(0.2)
                with pytest.raises(TimeoutError):
                    server.accept()
            finally:
                process.kill()
                for each in taken:
                    each.close()
