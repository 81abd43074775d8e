"""The file of hosts: what it says, and what is wrong with it."""

import pytest

from roost.domain.errors import InvalidInput
from roost.domain.hosts import Host, Hosts, read

ONE = '[[host]]\naddress = "10.0.0.2"\ncommand = ["ssh", "gpu-1"]\npython = "/opt/roost/bin/python"\nhome = "~/roost"\n'


def test_hosts_as_they_are_listed() -> None:
    host = Host(address="10.0.0.2", command=("ssh", "gpu-1"), python="/opt/roost/bin/python", home="~/roost")
    assert read(ONE, "hosts.toml") == Hosts(hosts=(host,))
    both = read(f'url = "http://10.0.0.1:8700/"\n{ONE}{ONE.replace("0.2", "0.3")}', "hosts.toml")
    assert ([each.address for each in both.hosts], both.url) == (["10.0.0.2", "10.0.0.3"], "http://10.0.0.1:8700")
    assert read("", "hosts.toml") == Hosts()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[host", "is no TOML"),
        ("port = 3", "has 'port', which means nothing"),
        ("host = 3", "each host a `[[host]]`"),
        ('url = "10.0.0.1"', "an address of HTTP"),
        ('[[host]]\naddress = "10.0.0.2"', "Host 1 of hosts.toml must have `address`, `command`"),
        (ONE.replace("10.0.0.2", "gpu-1"), "must be an IP address, got 'gpu-1'"),
        (ONE.replace('["ssh", "gpu-1"]', '"ssh gpu-1"'), "`command` is a list of words"),
        (ONE.replace('["ssh", "gpu-1"]', "[]"), "`command` is a list of words"),
        (ONE.replace("~/roost", "~/my roost"), "cannot have blanks or signs of a shell"),
        (ONE + ONE, "has 10.0.0.2 twice"),
    ],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(text, "hosts.toml")
    assert words in str(caught.value)
