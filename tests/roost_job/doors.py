"""An agent's door for tests: real sockets, the real protocol, and a run held in memory behind it."""

import json
import shutil
import socketserver
import threading
from pathlib import Path
from typing import Any


class FakeDoor:
    """Answers the ops of the door's table. `asked` holds every question; `files` what was uploaded."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.asked: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.metrics: dict[str, Any] = {}
        self.children: list[dict[str, Any]] = []
        self.secrets: dict[str, str] = {}
        self.hang_up = 0
        """So many callers are hung up on before one is answered."""
        self.silent = threading.Event()
        """While set, nobody gets an answer."""
        self.over = threading.Event()
        self.record: dict[str, Any] = {
            "id": "train_1700000000_1a2b3c4d",
            "number": 7,
            "status": "Running",
            "display_name": "first",
            "description": "",
            "tags": {},
            "properties": {},
            "started_at": 1700000000.25,
            "ended_at": None,
            "user": "ada",
            "spec": {"target": "local", "script": "train.py", "arguments": ["--lr", "0.1"]},
        }

    def __enter__(self) -> "FakeDoor":
        door = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                for line in self.rfile:
                    if door.hang_up:
                        door.hang_up -= 1
                        return
                    while door.silent.is_set() and not door.over.is_set():
                        door.over.wait(0.05)
                    if door.over.is_set():
                        return
                    self.wfile.write(json.dumps(door.answer(json.loads(line))).encode() + b"\n")

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True
            request_queue_size = 2

        self.server = Server(self.path, Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        Path(self.path).unlink(missing_ok=True)

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(question)
        try:
            return {"ok": getattr(self, f"op_{question['op']}")(question)}
        except LookupError as error:
            code, message, hint = error.args
            return {"error": {"code": code, "message": message, "hint": hint}}

    def op_run(self, _: dict[str, Any]) -> Any:
        return self.record

    def op_annotate(self, question: dict[str, Any]) -> Any:
        for key, value in question.get("properties", {}).items():
            if self.record["properties"].get(key, value) != value:
                raise LookupError("conflict", f"Property {key!r} is set.", "Use a tag.")
        self.record["properties"].update(question.get("properties", {}))
        self.record["tags"].update(question.get("tags", {}))
        for key in question.get("remove_tags", []):
            self.record["tags"].pop(key, None)
        self.record.update({key: question[key] for key in ("display_name", "description") if key in question})
        return self.record

    def op_upload(self, question: dict[str, Any]) -> Any:
        for name, _ in question["files"]:
            if ".." in name.split("/"):
                raise LookupError("invalid_input", f"Path {name!r} is not allowed.", "Give a relative path.")
        for name, path in question["files"]:
            self.files[name] = Path(path).read_bytes()
        return {"count": len(question["files"])}

    def op_files(self, question: dict[str, Any]) -> Any:
        return [name for name in self.files if name.startswith(question["prefix"])]

    def op_download(self, question: dict[str, Any]) -> Any:
        if question["name"] not in self.files:
            raise LookupError("not_found", f"No file {question['name']!r}.", "")
        partial = Path(question["path"] + ".part")
        partial.write_bytes(self.files[question["name"]])
        shutil.move(partial, question["path"])
        return {"size": len(self.files[question["name"]])}

    def op_uses(self, _: dict[str, Any]) -> Any:
        return []

    def op_metrics(self, question: dict[str, Any]) -> Any:
        name = question["name"]
        found = {name: self.metrics[name]} if name in self.metrics else self.metrics
        return {self.record["id"]: found} if question.get("recursive") else found

    def op_secrets(self, question: dict[str, Any]) -> Any:
        return {name: self.secrets.get(name) for name in question["names"]}

    def op_secret_names(self, _: dict[str, Any]) -> Any:
        return sorted(self.secrets)

    def op_bear(self, question: dict[str, Any]) -> Any:
        made = [{**child, "status": "Running", "parent_id": self.record["id"]} for child in question["children"]]
        self.children += made
        return made

    def op_children(self, _: dict[str, Any]) -> Any:
        return self.children[::-1]

    def op_report(self, question: dict[str, Any]) -> Any:
        return next(child for child in self.children if child["id"] == question["run"])

    op_cancel = op_report

    def op_flush(self, _: dict[str, Any]) -> Any:
        return None
