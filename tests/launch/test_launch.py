import pytest

from roost import launch
from roost.domain.errors import InvalidInput
from roost.domain.runs import RunSpec
from roost.launch.base import Place, Process
from roost.launch.expansion import expand, fill


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        (["--rank", "$RANK"], {"RANK": "3"}, ("--rank", "3")),
        (["--url=${HOST}:${PORT}/x"], {"HOST": "h", "PORT": "80"}, ("--url=h:80/x",)),
        (["$A$B", "${A}b"], {"A": "1", "B": "2"}, ("12", "1b")),
        (["$UNKNOWN", "${UNKNOWN}"], {}, ("$UNKNOWN", "${UNKNOWN}")),
        (
            ["cost: 5$", "$", "$$", "${}", "$1", "${a b}"],
            {"1": "x", "": "y"},
            ("cost: 5$", "$", "$$", "${}", "$1", "${a b}"),
        ),
        (["$NESTED"], {"NESTED": "$RANK", "RANK": "3"}, ("$RANK",)),
        (["$SPACES", "`id`", "$(id)", "a;b", "*"], {"SPACES": "a  b"}, ("a  b", "`id`", "$(id)", "a;b", "*")),
        (["$EMPTY"], {"EMPTY": ""}, ("",)),
        (["$rank_2x"], {"rank": "no", "rank_2x": "yes"}, ("yes",)),
        ([], {}, ()),
    ],
)
def test_expand(arguments, environment, expected):
    assert expand(arguments, environment) == expected


@pytest.mark.parametrize(
    ("spec", "place", "expected"),
    [
        (
            RunSpec(script="train.py", arguments=("--lr", "0.1"), interpreter="/env/bin/python"),
            Place(),
            (Process(argv=("/env/bin/python", "-u", "train.py", "--lr", "0.1"), rank=0),),
        ),
        (
            RunSpec(command=("bash", "-c", "echo $HOME"), interpreter="/env/bin/python"),
            Place(),
            (Process(argv=("bash", "-c", "echo $HOME"), rank=0),),
        ),
        (
            RunSpec(command=("python train.py && echo '$HOME'",), shell=True, interpreter="/env/bin/python"),
            Place(),
            (Process(argv=("bash", "-c", "python train.py && echo '$HOME'"), rank=0, expands=False),),
        ),
        (
            RunSpec(script="sub/train.py", interpreter="/p"),
            Place(node_rank=1, addresses=("10.0.0.1", "10.0.0.2")),
            (Process(argv=("/p", "-u", "sub/train.py"), rank=1),),
        ),
    ],
)
def test_single(spec, place, expected):
    assert launch.find("single")(spec, place) == expected


def test_an_unknown_launch_is_refused_with_the_choices():
    with pytest.raises(InvalidInput) as caught:
        launch.find("torchrun")
    assert "torchrun" in caught.value.message
    assert "single" in caught.value.hint


def test_what_stands_for_data_becomes_its_path():
    tokens = {"data:in": "/a", "data:in_2": "/b c"}
    assert fill(["data:in", "--x=data:in_2", "data:other"], tokens) == ("/a", "--x=/b c", "data:other")
    assert fill(["cat data:in_2 data:in"], tokens, shell=True) == ("cat '/b c' /a",)
    assert fill(["data:in"], {}) == ("data:in",)
