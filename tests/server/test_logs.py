"""The control plane's log: rotated while it runs, with what the process writes by itself; left alone where it goes elsewhere."""

import logging
import os
import subprocess
import sys
from pathlib import Path

from roost.server.logs import Rotating

STORY = """
import logging, sys
from pathlib import Path
from roost.server import logs
logs.LARGEST = 1000
logs.Rotating.__init__.__kwdefaults__["largest"] = 1000
logs.begin(Path(sys.argv[1]))
for number in range(300):
    logging.info("line %d of the log, long enough to fill it", number)
    print("plain words", number, file=sys.stderr, flush=True)
"""


def test_it_rotates_and_takes_the_process_s_own_words_along(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with log.open("ab") as file:
        subprocess.run([sys.executable, "-c", STORY, str(log)], stdout=file, stderr=file, check=True, timeout=60)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["server.log", *(f"server.log.{n}" for n in range(1, 6))]
    assert "plain words 299" in log.read_text()
    assert all(path.stat().st_size < 2000 for path in tmp_path.iterdir())
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())


def test_another_place_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "server.log").touch()
    done = subprocess.run(
        [sys.executable, "-c", STORY, str(tmp_path / "server.log")], capture_output=True, text=True, timeout=60
    )
    assert "line 299 of the log" in done.stderr
    assert (tmp_path / "server.log").read_text() == ""


def test_only_so_many_are_kept(tmp_path: Path) -> None:
    handler = Rotating(tmp_path / "a.log", largest=200, kept=2, follow=())
    for number in range(100):
        handler.emit(logging.makeLogRecord({"msg": f"line {number}"}))
    handler.close()
    assert sorted(os.listdir(tmp_path)) == ["a.log", "a.log.1", "a.log.2"]
