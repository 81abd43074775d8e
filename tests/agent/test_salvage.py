"""The salvage pass, against a control plane that takes its time."""

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from roost.agent import salvage
from roost.agent.folder import Folder
from roost.agent.shipping.masking import Masks
from roost.domain.codec import encode
from roost.domain.plans import Access, Errand, Plan
from roost.domain.runs import Reason, Run, RunSpec, RunStatus

RUN = "exp_1_ab"
SPEC = RunSpec(script="train.py")
PASS = "import pathlib, sys; from roost.agent import folder, salvage; salvage.salvage(folder.Folder(pathlib.Path(sys.argv[1])))"
"""In a process of its own, as its keeper has it."""


class SlowPlane(BaseHTTPRequestHandler):
    """Takes in no file before it has heard a heartbeat, or has waited for one in vain."""

    protocol_version = "HTTP/1.1"
    heartbeat = threading.Event()
    in_time: ClassVar[list[bool]] = []

    def handle_any(self):
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        deed = self.path.partition("?")[0].rpartition("/")[2]
        if deed == "heartbeat":
            self.heartbeat.set()
        elif deed == "batch":
            self.in_time.append(self.heartbeat.wait(20))
        body = json.dumps(self.answer(deed, sent)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self, deed, sent):
        if deed == "server":
            return {"blob_folder": "", "instance": "i"}
        if deed == "missing":
            return {"missing": json.loads(sent)["names"]}
        status = RunStatus.FAILED if deed == "events" else RunStatus.RUNNING
        run = Run(id=RUN, workspace="w", experiment="exp", number=1, spec=SPEC, user="u", created_at=1.0, status=status)
        return encode(run)

    do_GET = do_POST = do_PUT = handle_any

    def log_message(self, *args):
        pass


def test_it_is_heard_while_it_sends(tmp_path):
    folder = Folder(tmp_path / "runs" / RUN)
    (folder.work / "outputs").mkdir(parents=True)
    (folder.work / "outputs" / "model").write_text("large")
    with ThreadingHTTPServer(("127.0.0.1", 0), SlowPlane) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        access = Access(url=f"http://127.0.0.1:{server.server_port}", token="t")
        plan = Plan(run_id=RUN, workspace="w", experiment="exp", spec=SPEC, errand=Errand.SALVAGE)
        folder.plan.write_text(json.dumps({"plan": encode(plan), "access": encode(access)}))
        subprocess.run([sys.executable, "-c", PASS, str(folder.root)], check=True, timeout=60)
        server.shutdown()
    assert SlowPlane.in_time == [True]
    assert not folder.root.exists()


@pytest.mark.parametrize(
    ("status", "was_running", "words"),
    [
        (RunStatus.RUNNING, True, salvage.LOST),
        (RunStatus.RUNNING, False, salvage.LOST_LATE),
        (RunStatus.NOT_RESPONDING, False, salvage.LOST_LATE),
        (RunStatus.PROVISIONING, False, salvage.LOST_BEFORE),
    ],
)
def test_it_says_what_is_known_of_the_script(tmp_path, status, was_running, words):
    folder = Folder(tmp_path / "runs" / RUN)
    folder.root.mkdir(parents=True)
    run = Run(id=RUN, workspace="w", experiment="exp", number=1, spec=SPEC, user="u", created_at=1.0, status=status)
    outcome = salvage._outcome(folder, run, Masks(folder), "", was_running)
    assert (outcome.reason, outcome.message) == (Reason.AGENT_LOST, words)


def test_why_its_agent_ended_counts_more_than_what_the_log_had_before(tmp_path):
    folder = Folder(tmp_path / "runs" / RUN)
    folder.std_log.parent.mkdir(parents=True)
    folder.std_log.write_text("Traceback (most recent call last):\nOSError: of another day\n")
    run = Run(
        id=RUN, workspace="w", experiment="exp", number=1, spec=SPEC, user="u", created_at=1.0, status=RunStatus.RUNNING
    )
    assert "of another day" in salvage._outcome(folder, run, Masks(folder), "", True).message
    assert salvage._outcome(folder, run, Masks(folder), "No room.", True).message == "No room."
