"""A run's inputs laid out on its node, and a script's questions about datasets, from a web server and with no control plane."""

import os
import re
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.contracts.engine import NOWHERE
from tests.shared.web import Web, serving

from roost.agent.door.datasets import Datasets
from roost.agent.folder import Folder
from roost.agent.link import Link
from roost.agent.preparing import inputs
from roost.agent.preparing.inputs import Teller
from roost.domain.codec import encode
from roost.domain.datasets import Definition, Input, Mode, Source, token
from roost.domain.datastores import Item
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.plans import Plan
from roost.domain.runs import RunSpec

FILES = {"a/1.bin": b"one" * 1000, "a/2.bin": b"two"}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "home" / "runs" / "exp_1_ab")
    made.work.mkdir(parents=True)
    return made


@pytest.fixture
def web() -> Iterator[Web]:
    with serving(FILES) as server:
        yield server


@pytest.fixture
def data(folder: Folder) -> Iterator[Datasets]:
    plan = Plan(run_id=folder.run_id, workspace="w", experiment="e", spec=RunSpec())
    made = Datasets(folder, plan, NOWHERE, Link(folder, NOWHERE, patience=0), lambda: None, print, Path)
    yield made
    made.close()


def of(web: Web, *names: str) -> Definition:
    return Definition(sources=tuple(Source(url=f"{web.url}/{name}") for name in names))


@pytest.mark.parametrize(
    ("path", "found", "is_file"),
    [
        ("a/only.csv", ["only.csv"], True),
        ("only.csv", ["only.csv"], True),
        ("a", ["only.csv"], False),
        ("", ["only.csv"], False),
        ("a/*.csv", ["only.csv"], False),
        ("a", ["only.csv", "other.csv"], False),
    ],
)
def test_a_folder_of_one_file_is_a_folder(path: str, found: list[str], is_file: bool) -> None:
    given = Input(name="x", definition=Definition(sources=(Source(datastore="own", path=path),)), mode=Mode.MOUNT)
    assert inputs._is_file(given, [Item(name=name) for name in found]) is is_file


class TestLayingOut:
    @pytest.mark.parametrize("mode", [Mode.MOUNT, Mode.DOWNLOAD])
    @pytest.mark.parametrize("contained", [False, True])
    def test_many_are_a_folder_and_one_is_a_file(
        self, folder: Folder, data: Datasets, web: Web, mode: Mode, contained: bool
    ) -> None:
        data.contained = contained
        given = (
            Input(name="many", definition=of(web, *FILES), mode=mode),
            Input(name="one", definition=of(web, "a/2.bin"), mode=mode, path_on_compute="local/one"),
            Input(name="there", definition=of(web, "a/2.bin"), mode=mode, path_on_compute="/data/there"),
            Input(name="asked", definition=of(web, "a/2.bin"), mode=Mode.DIRECT, dataset_id="id-7"),
        )
        paths = inputs.lay_out(folder, RunSpec(inputs=given), data, Teller(folder.std_log))
        assert paths == {
            "many": str(folder.inputs / "many"),
            "one": str(folder.work / "local" / "one" / "2.bin"),
            "there": "/data/there/2.bin" if contained else str(folder.inputs / "there" / "2.bin"),
            "asked": "id-7",
        }
        assert {name: (folder.inputs / "many" / name).read_bytes() for name in os.listdir(paths["many"])} == {
            "1.bin": FILES["a/1.bin"],
            "2.bin": FILES["a/2.bin"],
        }
        copied = contained or mode is Mode.DOWNLOAD
        files = [os.lstat(folder.inputs / "many" / name) for name in ("1.bin", "2.bin")]
        disk = folder.root.stat().st_dev
        assert [stat.S_ISREG(file.st_mode) and file.st_dev == disk for file in files] == [copied] * 2
        log = folder.std_log.read_text().splitlines()
        assert log[0].startswith("Input many: 2 files, 3 kB, ")
        assert ("copied here by way of this node's cache" in log[0]) == copied
        assert any("not at /data/there: without a container" in line for line in log) != contained

    def test_what_was_here_already_was_not_fetched(self, folder: Folder, data: Datasets, web: Web) -> None:
        definition = of(web, *FILES)
        data.bring(definition, data.items(definition), None)
        spec = RunSpec(inputs=(Input(name="many", definition=definition, mode=Mode.MOUNT),))
        inputs.lay_out(folder, spec, data, Teller(folder.std_log))
        words = r"Input many: 2 files, 3 kB, links to this node's cache, in \d\.\d s\. All of it was here already\.\n"
        assert re.fullmatch(words, folder.std_log.read_text())

    def test_what_goes_wrong_names_the_input(self, folder: Folder, data: Datasets, web: Web) -> None:
        absent = RunSpec(inputs=(Input(name="birds", definition=of(web, "a/absent.bin"), mode=Mode.DOWNLOAD),))
        with pytest.raises(NotFound, match=rf"Input 'birds': .*{web.url}/a/absent\.bin"):
            inputs.lay_out(folder, absent, data, Teller(folder.std_log))
        none = Definition(sources=of(web, "a/2.bin").sources, steps=({"op": "take", "count": 0},))
        words = rf"Input 'birds': it has no files now at {web.url}/a/2\.bin, after its steps \(take\)\."
        with pytest.raises(NotFound, match=words):
            inputs.lay_out(
                folder, RunSpec(inputs=(Input(name="birds", definition=none),)), data, Teller(folder.std_log)
            )

    def test_what_is_changed_through_a_mount_is_told_at_the_end(
        self, folder: Folder, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "a.txt").write_text("one")
        seen = (tmp_path / "a.txt").stat()
        item = Item(name="a.txt", path=str(tmp_path / "a.txt"), size=3, modified_at=seen.st_mtime)
        plan = Plan(run_id=folder.run_id, workspace="w", experiment="e", spec=RunSpec())
        teller = Teller(folder.std_log)
        data = Datasets(folder, plan, NOWHERE, Link(folder, NOWHERE, patience=0), lambda: None, teller.say, Path)
        monkeypatch.setattr(data, "items", lambda _: [item])
        spec = RunSpec(inputs=(Input(name="birds", definition=of(web, "a"), mode=Mode.MOUNT),))
        given = Path(inputs.lay_out(folder, spec, data, teller)["birds"])
        (given.parent / "made").mkdir()
        (given.parent / "made/b.txt").write_text("new")
        given.write_text("OVERWRITTEN")
        data.close()
        assert folder.std_log.read_text().splitlines()[-2:] == [
            "Input birds: made/b.txt was written there and reached no datastore: a mount is for reading, write to an output.",
            "Input birds: a.txt was changed while the run was going: a mount of files of this machine is the files "
            "themselves; as_download() gives copies.",
        ]

    def test_it_does_not_cover_the_snapshot(self, folder: Folder, data: Datasets, web: Web) -> None:
        (folder.work / "data").mkdir()
        (folder.work / "data" / "mine.txt").write_text("kept")
        spec = RunSpec(inputs=(Input(name="birds", definition=of(web, "a/2.bin"), path_on_compute="data"),))
        with pytest.raises(InvalidInput, match="the snapshot has something there"):
            inputs.lay_out(folder, spec, data, Teller(folder.std_log))
        out = RunSpec(inputs=(Input(name="birds", definition=of(web, "a/2.bin"), path_on_compute="../up"),))
        with pytest.raises(InvalidInput):
            inputs.lay_out(folder, out, data, Teller(folder.std_log))

    def test_it_ends_when_nobody_wants_it(self, folder: Folder, web: Web) -> None:
        class Unwanted(Exception):
            pass

        def meanwhile() -> None:
            raise Unwanted

        plan = Plan(run_id=folder.run_id, workspace="w", experiment="e", spec=RunSpec())
        data = Datasets(folder, plan, NOWHERE, Link(folder, NOWHERE, patience=0), meanwhile, print, Path)
        spec = RunSpec(inputs=(Input(name="birds", definition=of(web, *FILES), mode=Mode.DOWNLOAD),))
        with pytest.raises(Unwanted):
            inputs.lay_out(folder, spec, data, Teller(folder.std_log))
        data.close()

    def test_long_waits_are_explained(self, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
        sent: list[str] = []
        teller = Teller(folder.std_log, lambda: sent.append(folder.std_log.read_text()))
        now = 100.0
        monkeypatch.setattr(inputs.time, "monotonic", lambda: now)
        progress = teller.progress("birds", 10)
        progress(1, 800_000_000)
        now += 3
        progress(120_000_000, 800_000_000)
        progress(130_000_000, 800_000_000)
        assert sent == ["Downloading input birds: 120 MB of 800 MB, 10 files in all.\n"]


def test_one_byte_is_one() -> None:
    assert [inputs.size(count) for count in (0, 1, 2, 1500)] == ["0 bytes", "1 byte", "2 bytes", "1.5 kB"]


def test_variables_and_arguments() -> None:
    paths = {"birds": "/in/birds", "PATH": "/in/path"}
    made = inputs.variables(paths)
    assert made == {
        "birds": "/in/birds",
        "AZUREML_DATAREFERENCE_birds": "/in/birds",
        "AZUREML_DATAREFERENCE_PATH": "/in/path",
    }
    spec = RunSpec(
        arguments=("--data", token("birds")),
        command=(f"ls {token('birds')}",),
        shell=True,
        environment_variables={"DATA": token("birds")},
    )
    filled = inputs.filled(spec, {"birds": "/in/a b"})
    assert filled.arguments == ("--data", "/in/a b")
    assert filled.command == ("ls '/in/a b'",)
    assert filled.environment_variables == {"DATA": "/in/a b"}


class TestQuestions:
    def test_files_and_items(self, data: Datasets, web: Web) -> None:
        request = {"definition": encode(of(web, *FILES))}
        assert data.ops["dataset_items"](request) == [
            ["1.bin", f"{web.url}/a/1.bin"],
            ["2.bin", f"{web.url}/a/2.bin"],
        ]
        (_, first, _), _ = data.ops["dataset_files"](request)  # type: ignore[misc]
        assert Path(first).read_bytes() == FILES["a/1.bin"]
        data.ops["dataset_files"](request)
        assert web.bodies == dict.fromkeys(FILES, 1), "the second time from the cache"

    def test_some_of_the_files(self, data: Datasets, web: Web) -> None:
        request = {"definition": encode(of(web, *FILES))}
        ((name, path, _),) = data.ops["dataset_files"]({**request, "names": ["2.bin"]})  # type: ignore[misc]
        assert (name, Path(path).read_bytes()) == ("2.bin", FILES["a/2.bin"])
        assert web.bodies == {"a/2.bin": 1}, "the others stay where they are"
        with pytest.raises(NotFound, match=r"3\.bin is not there any more"):
            data.ops["dataset_files"]({**request, "names": ["2.bin", "3.bin"]})
        with pytest.raises(InvalidInput, match="`names` must be a list, got str"):
            data.ops["dataset_files"]({**request, "names": "2.bin"})

    def test_a_contained_script_is_given_copies_of_its_own(self, data: Datasets, folder: Folder, web: Web) -> None:
        data.contained = True
        request = {"definition": encode(of(web, "a/2.bin"))}
        ((_, path, _),) = data.ops["dataset_files"](request)  # type: ignore[misc]
        assert Path(path).is_relative_to(folder.inputs)
        place = data.ops["dataset_mount"](request)
        assert not Path(str(place), "2.bin").is_symlink()

    @pytest.mark.parametrize("op", ["dataset_download", "dataset_mount"])
    def test_nothing_is_written_where_a_container_made_a_link(
        self, data: Datasets, folder: Folder, tmp_path: Path, web: Web, op: str
    ) -> None:
        data.contained = True
        (tmp_path / "outside").mkdir()
        (folder.work / "here").mkdir()
        (folder.work / "here" / "a").symlink_to(tmp_path / "outside")
        (folder.work / "here" / "2.bin").symlink_to(tmp_path / "outside" / "2.bin")
        several = Definition(sources=(Source(url=f"{web.url}/a/1.bin"), Source(url=f"{web.url}/b.bin")))
        web.files["b.bin"] = b"bee"
        with pytest.raises(InvalidInput, match="a' is a link"):
            data.ops[op]({"definition": encode(several), "path": str(folder.work / "here"), "overwrite": True})
        data.ops[op]({"definition": encode(of(web, "a/2.bin")), "path": str(folder.work / "here"), "overwrite": True})
        assert (folder.work / "here" / "2.bin").read_bytes() == FILES["a/2.bin"]
        assert not (folder.work / "here" / "2.bin").is_symlink() and not os.listdir(tmp_path / "outside")

    def test_nor_where_its_snapshot_has_one(self, data: Datasets, folder: Folder, tmp_path: Path, web: Web) -> None:
        data.contained = True
        (tmp_path / "outside").mkdir()
        (folder.work / "in").symlink_to(tmp_path / "outside")
        given = Input(name="x", definition=of(web, *FILES), mode=Mode.DOWNLOAD, path_on_compute="in")
        with pytest.raises(InvalidInput, match="in' is a link"):
            inputs.lay_out(folder, RunSpec(inputs=(given,)), data, Teller(folder.std_log))
        assert not os.listdir(tmp_path / "outside")

    def test_a_link_on_the_way_to_the_home_is_the_machines_own(self, tmp_path: Path, web: Web) -> None:
        (tmp_path / "disk").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "disk")
        folder = Folder(tmp_path / "link" / "home" / "runs" / "exp_1_ab")
        folder.work.mkdir(parents=True)
        plan = Plan(run_id=folder.run_id, workspace="w", experiment="e", spec=RunSpec())
        data = Datasets(folder, plan, NOWHERE, Link(folder, NOWHERE, patience=0), lambda: None, print, Path)
        data.contained = True
        given = Input(name="x", definition=of(web, *FILES), mode=Mode.DOWNLOAD)
        place = inputs.lay_out(folder, RunSpec(inputs=(given,)), data, Teller(folder.std_log))["x"]
        assert place == str(folder.inputs / "x") and sorted(os.listdir(place)) == ["1.bin", "2.bin"]
        data.close()

    def test_download_and_mount(self, data: Datasets, tmp_path: Path, web: Web) -> None:
        request = {"definition": encode(of(web, *FILES)), "path": str(tmp_path / "here")}
        assert data.ops["dataset_download"](request) == [str(tmp_path / "here" / name) for name in ("1.bin", "2.bin")]
        with pytest.raises(Conflict, match="is there already"):
            data.ops["dataset_download"](request)
        data.ops["dataset_download"]({**request, "overwrite": True})
        place = data.ops["dataset_mount"]({"definition": request["definition"]})
        assert sorted(os.listdir(str(place))) == ["1.bin", "2.bin"]
        assert data.ops["dataset_mount"]({"definition": request["definition"]}) == place, "asked twice is mounted once"
        data.ops["dataset_unmount"]({"path": place})
        assert sorted(os.listdir(str(place))) == ["1.bin", "2.bin"], "the other still uses it"
        data.ops["dataset_unmount"]({"path": place})
        assert not os.path.exists(str(place)), "nobody uses it any more"
        assert data.ops["dataset_mount"]({"definition": request["definition"]}) == place, "and may be asked for again"

    def test_many_mount_at_once(self, data: Datasets, tmp_path: Path, web: Web) -> None:
        request = {"definition": encode(of(web, *FILES)), "path": str(tmp_path / "here")}
        with ThreadPoolExecutor(4) as pool:
            assert {*pool.map(data.ops["dataset_mount"], [request] * 4)} == {request["path"]}
            list(pool.map(data.ops["dataset_unmount"], [request] * 3))
            assert sorted(os.listdir(tmp_path / "here")) == ["1.bin", "2.bin"]
        with pytest.raises(Conflict, match="Another dataset is mounted"):
            data.ops["dataset_mount"]({**request, "definition": encode(of(web, "a/2.bin"))})

    def test_an_input_is_not_the_scripts_to_take_away(self, folder: Folder, data: Datasets, web: Web) -> None:
        given = Input(name="many", definition=of(web, *FILES), mode=Mode.MOUNT)
        place = inputs.lay_out(folder, RunSpec(inputs=(given,)), data, Teller(folder.std_log))["many"]
        for op in ("dataset_mount", "dataset_unmount"):
            data.ops[op]({"definition": encode(given.definition), "path": place})
        assert sorted(os.listdir(place)) == ["1.bin", "2.bin"]

    @pytest.mark.parametrize("request_", [{}, {"definition": []}, {"definition": {"sources": []}}])
    def test_wrong_questions(self, data: Datasets, request_: dict[str, object]) -> None:
        with pytest.raises(InvalidInput):
            data.ops["dataset_files"](request_)
