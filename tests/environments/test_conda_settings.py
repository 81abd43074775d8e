from pathlib import Path

import pytest

from roost.domain.conda import NODEFAULTS
from roost.environments.base import BuildFailed
from roost.environments.conda import settings as conda_settings
from roost.environments.conda.settings import Channel, Settings

MIRROR = "https://ann:secret@mirror.example.test/conda"


def read(tmp_path: Path, text: str = "", **variables: str) -> Settings:
    file = tmp_path / "mine.yml"
    file.write_text(text)
    own = {"CONDARC": str(file), "HOME": str(tmp_path), **variables}
    return conda_settings.read(own, system=tmp_path / "system")


def names(channels: list[Channel]) -> list[str]:
    return [channel.name for channel in channels]


def test_files_are_read_in_conda_s_order(tmp_path: Path) -> None:
    for place, name in (("system/condarc.d/a.yml", "system"), (".conda/.condarc", "user"), (".condarc", "home")):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(f"channels: [{name}]\nchannel_priority: strict\n")
    found = read(tmp_path, "channels: [named]\nchannel_priority: disabled\n", CONDA_CHANNELS="variable")
    assert found.channels == ("variable", "named", "home", "user", "system")
    assert found.priority == "disabled"


def test_what_the_files_say(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        f"channel_alias: {MIRROR}\ncustom_channels:\n  team: https://${{WHERE}}/x\noffline: yes\nssl_verify: /ca.pem\n"
        "proxy_servers:\n  https: http://p.test:3128\ndefault_channels: [https://d.test/pkgs/main]\n",
        WHERE="t.test",
    )
    assert (found.alias, found.offline, found.verify, found.certificates) == (MIRROR, True, True, "/ca.pem")
    assert found.custom == {"team": "https://t.test/x"}
    assert found.proxies == {"https": "http://p.test:3128"}
    assert read(tmp_path, "ssl_verify: false\n").verify is False
    assert read(tmp_path, CONDA_SSL_VERIFY="false").verify is False
    assert read(tmp_path, CONDA_OFFLINE="1").offline is True
    assert read(tmp_path, REQUESTS_CA_BUNDLE="/b.pem").certificates == "/b.pem"


@pytest.mark.parametrize("text", ["- a\n", "a: [\n", "channels: 3\n", "channel_priority: odd\n"])
def test_a_damaged_file_says_nothing(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == Settings()


def test_channels_of_an_environment_come_before_the_machine_s(tmp_path: Path) -> None:
    found = read(tmp_path, "channels: [own, conda-forge]\n")
    assert names(found.resolve(["conda-forge", "pytorch"])) == ["conda-forge", "pytorch", "own"]
    assert names(found.resolve(["pytorch", NODEFAULTS])) == ["pytorch"]


def test_defaults_come_in_where_nobody_names_a_channel(tmp_path: Path) -> None:
    assert names(read(tmp_path).resolve([])) == ["main", "r"]
    assert names(read(tmp_path).resolve(["conda-forge"])) == ["conda-forge"]
    assert names(read(tmp_path).resolve(["conda-forge", "defaults"])) == ["conda-forge", "main", "r"]
    mine = read(tmp_path, f"default_channels: [{MIRROR}/main]\n")
    assert mine.resolve([]) == [Channel("defaults/main", f"{MIRROR}/main", True)]


def test_where_a_channel_is(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        f"channel_alias: {MIRROR}\ncustom_channels: {{team: 'https://t.test/x'}}\n"
        "custom_multichannels: {all: [team, 'https://o.test/t/tk/other']}\n",
    )
    assert found.find("conda-forge") == [Channel("conda-forge", f"{MIRROR}/conda-forge", True)]
    assert found.find("team/label/dev") == [Channel("team/label/dev", "https://t.test/x/team/label/dev", True)]
    assert found.find("/srv/c") == [Channel("/srv/c", "file:///srv/c")]
    assert found.find("https://h.test/c/") == [Channel("https://h.test/c/", "https://h.test/c")]
    assert names(found.find("all")) == ["team", "machine/other"]
    assert Settings().find("conda-forge") == [Channel("conda-forge", "")]


@pytest.mark.parametrize("name", ["conda-forge", "defaults/main", "machine/other", "/srv/c", "team"])
def test_a_lock_s_channel_is_found_again(tmp_path: Path, name: str) -> None:
    found = read(
        tmp_path,
        f"channels: ['{MIRROR}/other']\ndefault_channels: ['{MIRROR}/main']\ncustom_channels: {{team: 'https://t.test/x'}}\n",
    )
    assert found.by_name(name).name == name


def test_a_channel_that_only_another_machine_knows(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="machine/other"):
        read(tmp_path, "channels: [x]\n").by_name("machine/other")


@pytest.mark.parametrize(
    "line",
    [
        f"failed to fetch {MIRROR}/conda-forge/noarch/repodata.json",
        "failed to fetch https://mirror.example.test/conda/conda-forge/noarch/repodata.json",
        "dns error: mirror.example.test",
        "GET https://other.test/t/secret/team/noarch and https://bob:secret@x.test/y",
    ],
)
def test_no_address_of_the_machine_and_no_credential_is_told(tmp_path: Path, line: str) -> None:
    found = read(tmp_path, f"channel_alias: {MIRROR}\n")
    told = found.scrub(line, found.resolve(["conda-forge"]))
    for word in ("mirror.example.test", "secret", "ann", "bob"):
        assert word not in told


def test_what_the_user_wrote_is_told(tmp_path: Path) -> None:
    found = read(tmp_path)
    line = "failed to fetch https://h.test/c/noarch/repodata.json"
    assert found.scrub(line, found.resolve(["https://h.test/c"])) == line


def test_addresses_that_end_alike_have_names_of_their_own(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "channels: ['https://a.test/main', 'https://b.test/main']\ndefault_channels: ['https://c.test/main']\n",
    )
    assert names(found.resolve(["defaults"])) == ["defaults/main~3", "machine/main", "machine/main~2"]
    assert [found.by_name(name).url for name in ("machine/main~2", "defaults/main~3")] == [
        "https://b.test/main",
        "https://c.test/main",
    ]


def test_channels_that_the_machine_forbids(tmp_path: Path) -> None:
    only = read(tmp_path, f"channel_alias: {MIRROR}\nallowlist_channels: [conda-forge, 'https://h.test/c']\n")
    only.check(only.resolve(["conda-forge", "https://h.test/c"]))
    with pytest.raises(BuildFailed, match="pytorch may not be used") as caught:
        only.check(only.resolve(["conda-forge", "pytorch"]))
    assert "conda-forge" in caught.value.hint
    some = read(tmp_path, "denylist_channels: [defaults]\n")
    some.check(some.resolve(["conda-forge"]))
    with pytest.raises(BuildFailed, match="main may not be used"):
        some.check(some.resolve([]))


def test_the_file_of_the_conda_that_is_installed(tmp_path: Path) -> None:
    (tmp_path / "root" / "bin").mkdir(parents=True)
    (tmp_path / "root" / ".condarc").write_text("channels: [theirs]\n")
    assert read(tmp_path, CONDA_EXE=str(tmp_path / "root" / "bin" / "conda")).channels == ("theirs",)
