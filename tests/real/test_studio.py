"""The studio in a real browser: Debian's Chromium, installed here when this is root and it is missing."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from tests.sdk.folders import tree

from roost import Experiment, Run, ScriptRunConfig, Workspace

pytestmark = [pytest.mark.real, pytest.mark.timeout(500)]

EVIL = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
SCRIPT = """
import os, sys
from azureml.core import Run
run = Run.get_context()
run.log("once", 41.5)
for step in range(20):
    run.log("loss", 1.0 / (step + 1), step=step)
run.log(sys.argv[1], 1.0); run.log(sys.argv[1], 2.0)
os.makedirs("outputs", exist_ok=True)
open("outputs/model.txt", "w").write("weights")
print("first line " + sys.argv[1], flush=True)
if len(sys.argv) > 2:
    import time
    while not os.path.exists(sys.argv[2]): time.sleep(0.05)
print("last line", flush=True)
"""


@pytest.fixture(scope="session")
def chromium() -> str:
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            pytest.skip("Chromium is not here, and installing it needs root and apt-get.")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update"], ["install", "-y", "--no-install-recommends", "chromium", "chromium-driver"]):
            subprocess.run(["apt-get", "-q", *words], check=True, env=environment, stdout=subprocess.DEVNULL)
    found = shutil.which("chromium")
    assert found
    return found


def start(chromium: str, profile: Path, *more: str) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    words = "headless=new no-sandbox disable-gpu no-first-run disable-background-networking disable-component-update disable-sync"
    for word in (*words.split(), "disable-dev-shm-usage", "window-size=1280,1200", f"user-data-dir={profile}", *more):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


@pytest.fixture
def browser(chromium: str, tmp_path: Path) -> Iterator[webdriver.Chrome]:
    made = start(chromium, tmp_path / "profile")
    yield made
    complaints = [entry["message"] for entry in made.get_log("browser") if entry["level"] == "SEVERE"]
    hacked = made.execute_script("return window.hacked")
    made.quit()
    assert hacked is None
    assert [text for text in complaints if "401" not in text] == []


@pytest.fixture
def source(tmp_path: Path) -> str:
    folder = tmp_path / "source"
    folder.mkdir()
    tree(folder, {"train.py": SCRIPT})
    return str(folder)


def let_in(browser: webdriver.Chrome, workspace: Workspace, run: str = "") -> None:
    code = workspace._connection.client.call("POST", "/api/sessions")["code"]
    browser.get(f"{workspace._connection.url}/login?code={code}&run={run}")


def shows(browser: webdriver.Chrome, *words: str, place: str = "body") -> None:
    def all_there(driver: webdriver.Chrome) -> bool:
        text = driver.find_element(By.CSS_SELECTOR, place).text
        return all(word in text for word in words)

    try:
        WebDriverWait(browser, 30).until(all_there)
    except Exception:
        print(browser.find_element(By.CSS_SELECTOR, place).text)
        raise


def fits(browser: webdriver.Chrome) -> bool:
    """Nothing sticks out to the right."""
    return bool(browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"))


def test_without_a_session_the_page_says_how_to_get_one(browser: webdriver.Chrome, workspace: Workspace) -> None:
    url = workspace._connection.url
    browser.get(f"{url}/")
    shows(browser, "Let this browser in", "roost open")
    browser.get(f"{url}/runs/train_1_ab")
    shows(browser, "roost open train_1_ab")
    browser.get(f"{url}/login?code=nonsense")
    shows(browser, "That link is used up")
    assert not browser.find_element(By.ID, "runs").is_displayed()


def test_runs_are_listed_filtered_and_paged(browser: webdriver.Chrome, workspace: Workspace, source: str) -> None:
    config = ScriptRunConfig(source_directory=source, script="train.py", arguments=["metric"])
    done = Experiment(workspace, "birds").submit(config, display_name=EVIL)
    done.wait_for_completion()
    for number in range(26):
        Experiment(workspace, "notes").start_logging(display_name=f"note {number}").complete()
    let_in(browser, workspace)
    shows(browser, "note 25", "note 1", "Completed", "Page 1")
    rows = browser.find_elements(By.CSS_SELECTOR, "#rows tr")
    assert len(rows) == 25
    browser.find_element(By.ID, "older").click()
    shows(browser, "note 0", EVIL, "Page 2")
    browser.find_element(By.ID, "newer").click()
    shows(browser, "note 25")
    browser.find_element(By.CSS_SELECTOR, "#experiment option[value=birds]").click()
    shows(browser, EVIL, "birds", place="#rows")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#rows tr")) == 1
    assert "experiment=birds" in browser.current_url
    browser.find_element(By.XPATH, "//button[text()='Failed']").click()
    shows(browser, "No run fits these filters.")
    browser.refresh()
    shows(browser, "No run fits these filters.")
    browser.find_element(By.XPATH, "//button[text()='All']").click()
    shows(browser, EVIL)
    later = Experiment(workspace, "birds").start_logging(display_name="came later")
    shows(browser, "came later", "Running")
    later.complete()
    browser.find_element(By.LINK_TEXT, EVIL).click()
    shows(browser, done.id, "first line")


def test_one_run_with_its_log_metrics_events_and_files(
    browser: webdriver.Chrome, workspace: Workspace, source: str, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    config = ScriptRunConfig(source_directory=source, script="train.py", arguments=[EVIL, str(gate)])
    run = Experiment(workspace, "birds").submit(config, tags={EVIL: EVIL}, display_name=EVIL)
    let_in(browser, workspace, run.id)
    shows(browser, "Running", f"first line {EVIL}", f"{EVIL}: {EVIL}", "41.5", "loss")
    assert "last line" not in browser.find_element(By.ID, "log").text
    gate.touch()
    shows(browser, "last line", place="#log")
    shows(browser, "Completed", place="#status")
    shows(browser, "outputs/model.txt", "user_logs/std_log.txt", place="#files")
    shows(browser, "Queued", "Running", "Completed", place="#events")
    assert len(browser.find_elements(By.CSS_SELECTOR, ".chart svg path.line")) == 2
    link = browser.find_element(By.LINK_TEXT, "outputs/model.txt").get_attribute("href")
    text = browser.execute_async_script("fetch(arguments[0]).then(r => r.text()).then(arguments[1])", link)
    assert text == "weights"
    assert browser.execute_script("return document.cookie") == ""
    browser.find_element(By.CSS_SELECTOR, "#machine summary").click()
    shows(browser, "memory", place="#machine")


def test_children_and_lines_that_are_rewritten(browser: webdriver.Chrome, workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "bars"
    folder.mkdir()
    text = "import sys\nsys.stdout.write('\\r 10 %\\x1b[31m red\\x1b[0m\\r 90 %\\nnext\\r\\n')\nsys.stdout.write('\\rlast')"
    tree(folder, {"train.py": text})
    run = Experiment(workspace, "bars").submit(ScriptRunConfig(source_directory=str(folder), script="train.py"))
    run.wait_for_completion()
    let_in(browser, workspace, run.id)
    shows(browser, "last", place="#log")
    assert browser.find_element(By.ID, "log").get_attribute("textContent") == " 90 %\nnext\nlast"
    assert not browser.find_element(By.ID, "children-part").is_displayed()


def test_a_run_is_cancelled_from_the_page(browser: webdriver.Chrome, workspace: Workspace, source: str) -> None:
    config = ScriptRunConfig(source_directory=source, script="train.py", arguments=["metric", "/nowhere/at/all"])
    run = Experiment(workspace, "birds").submit(config)
    let_in(browser, workspace, run.id)
    shows(browser, "first line")
    browser.find_element(By.ID, "cancel").click()
    shows(browser, "Canceled", place="#status")
    assert Run.get(workspace, run.id).get_status() == "Canceled"
    assert not browser.find_element(By.ID, "cancel").is_displayed()


@pytest.mark.parametrize("dark", [False, True])
def test_narrow_and_dark(chromium: str, workspace: Workspace, source: str, tmp_path: Path, dark: bool) -> None:
    config = ScriptRunConfig(source_directory=source, script="train.py", arguments=["m" * 200])
    run = Experiment(workspace, "birds").submit(config, display_name="x" * 200)
    run.wait_for_completion()
    browser = start(chromium, tmp_path / "other", *(["force-dark-mode"] if dark else []))
    try:
        metrics = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": True}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        let_in(browser, workspace)
        shows(browser, "birds")
        assert fits(browser)
        ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (int(ground.partition("(")[2].partition(",")[0]) < 60) == dark
        browser.get(f"{workspace._connection.url}/runs/{run.id}")
        shows(browser, "last line")
        assert fits(browser)
    finally:
        browser.quit()
