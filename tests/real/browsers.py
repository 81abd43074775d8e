"""Chromium, driven over the WebDriver protocol with the standard library alone: what one page of ours needs, and no more."""

import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests import skips

from roost import Workspace

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that the protocol gives to elements
_SECONDS = 30.0
_FLAGS = (
    "headless=new no-sandbox disable-gpu disable-dev-shm-usage no-first-run disable-background-networking "
    "disable-component-update disable-sync window-size=1280,1200"
)

EVIL = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
"""What a page must show as it stands."""
NARROW: dict[str, object] = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": True}
_POINT = """
const [css, left, down, kind] = arguments, place = document.querySelector(css), box = place.getBoundingClientRect();
const at = { clientX: box.left + left * box.width, clientY: box.top + down * box.height, bubbles: true };
place.dispatchEvent(new PointerEvent(kind, at));
"""


def check() -> None:
    """Skips with the reason where there is no Chromium with its driver."""
    skips.needs("chromium")


def _driver(tries: int = 3) -> tuple["subprocess.Popen[str]", str]:
    """A driver and the port that it listens on. Begun anew when another program took the port that it had chosen."""
    process = subprocess.Popen(
        ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if found := re.search(r"successfully on port (\d+)", line):
            return process, found[1]
    process.stdout.close()
    process.wait()
    assert tries > 1, f"chromedriver does not start: {''.join(lines)}"
    return _driver(tries - 1)


class Browser:
    """One browser with a profile of its own. `quit` ends it and its driver."""

    def __init__(self, profile: Path) -> None:
        self._driver, port = _driver()
        self._url = f"http://127.0.0.1:{port}/session"
        arguments = [f"--{word}" for word in (*_FLAGS.split(), f"user-data-dir={profile}")]
        options = {"args": arguments, "binary": shutil.which("chromium")}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        try:
            session = self._call("POST", "", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        except BaseException:
            self._end()
            raise
        self._url += f"/{session}"

    def quit(self) -> None:
        try:
            self._call("DELETE", "")
        finally:
            self._end()

    def _end(self) -> None:
        self._driver.terminate()
        self._driver.wait(20)
        assert self._driver.stdout is not None
        self._driver.stdout.close()

    def _call(self, method: str, path: str, body: object = None) -> Any:
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def get(self, url: str) -> None:
        self._call("POST", "/url", {"url": url})

    def refresh(self) -> None:
        self._call("POST", "/refresh")

    @property
    def url(self) -> str:
        return str(self._call("GET", "/url"))

    def run(self, script: str, *values: object) -> Any:
        """What a script returns; a promise is waited for."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(values)})

    def emulate(self, command: str, values: dict[str, object]) -> None:
        self._call("POST", "/goog/cdp/execute", {"cmd": f"Emulation.{command}", "params": values})

    def complaints(self) -> list[str]:
        """Errors that the page's console has."""
        entries = self._call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def count(self, css: str) -> int:
        return int(self.run("return document.querySelectorAll(arguments[0]).length", css))

    def text(self, css: str = "body") -> str:
        """What can be seen of an element; nothing while it is not there."""
        return str(self.run("return document.querySelector(arguments[0])?.innerText ?? ''", css))

    def is_shown(self, css: str) -> bool:
        return bool(self.run("return document.querySelector(arguments[0]).checkVisibility()", css))

    def click(self, css: str, text: str = "") -> None:
        """Clicks the element, once it is there and can be clicked; of several the one with this text."""
        find = "return [...document.querySelectorAll(arguments[0])].find(e => !arguments[1] || e.innerText === arguments[1])"
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                if element := self.run(find, css, text):
                    self._call("POST", f"/element/{element[_ELEMENT]}/click")
                    return
            except urllib.error.HTTPError as refused:  # it is hidden still, or was drawn anew in between
                assert time.monotonic() < deadline, refused.read()
            assert time.monotonic() < deadline, f"there is no {css} with {text!r}"
            time.sleep(0.1)  # as below

    def shows(self, *words: str, place: str = "body") -> None:
        """Waits until all of this can be read there."""
        deadline = time.monotonic() + _SECONDS
        while True:
            text = self.text(place)
            missing = [word for word in words if word not in text]
            if not missing:
                return
            assert time.monotonic() < deadline, f"{missing} not in {place}: {text}"
            time.sleep(0.1)  # a page tells nobody outside when it has changed

    def point(self, css: str, left: float = 0.5, down: float = 0.5, kind: str = "pointermove") -> None:
        """Moves the pointer to this part of the element's width and height."""
        self.run(_POINT, css, left, down, kind)


def let_in(browser: Browser, workspace: Workspace, run: str = "") -> None:
    code = workspace._connection.client.call("POST", "/api/sessions")["code"]
    browser.get(f"{workspace._connection.url}/login?code={code}&run={run}")


def fits(browser: Browser) -> bool:
    """Nothing sticks out to the right. A phone widens `innerWidth` to what sticks out, so the layout's own width counts."""
    return bool(browser.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth"))
