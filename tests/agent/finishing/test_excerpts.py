"""What is shown of the log of a failed process: the user's own frames, the error, and what is left out."""

from roost.agent.finishing.excerpts import last_words

HEAD = "Traceback (most recent call last):"
HANDLING = "During handling of the above exception, another exception occurred:"


def frame(path: str, line: int = 1, code: str = "call()") -> str:
    return f'  File "{path}", line {line}, in f\n    {code}'


def pandas(count: int) -> list[str]:
    return [frame(f"/env/lib/python3.11/site-packages/pandas/core/part{each}.py") for each in range(count)]


def test_the_user_s_own_frames_stay_and_those_of_packages_go() -> None:
    text = "\n".join(
        ["epoch 1", HEAD, frame("/w/train.py", 9), frame("/w/data.py", 4), *pandas(12), "KeyError: 'price'"]
    )
    assert last_words(text + "\n") == "\n".join(
        [
            HEAD,
            frame("/w/train.py", 9),
            frame("/w/data.py", 4),
            "  … 11 frames of pandas left out",
            pandas(12)[-1],
            "KeyError: 'price'",
        ]
    )


def test_frames_between_are_counted_by_package() -> None:
    torch = [frame("/env/lib/python3.11/site-packages/torch/nn.py") for _ in range(3)]
    lines = [
        HEAD,
        frame("/w/a.py"),
        *torch,
        frame("/usr/lib/python3.11/json/x.py"),
        frame("/w/b.py"),
        *pandas(6),
        "E: x",
    ]
    shown = last_words("\n".join(lines)).split("\n")
    assert [line for line in shown if "left out" in line] == [
        "  … 3 frames of torch left out",
        "  … 1 frame of Python left out",
        "  … 5 frames of pandas left out",
    ]
    assert shown[-1] == "E: x"


def test_a_short_traceback_stands_as_it_is_with_the_last_of_a_chain_alone() -> None:
    first = [HEAD, *pandas(2), "KeyError: 1"]
    last = [HEAD, frame("/w/train.py"), "    ^^^^^^", "ValueError: bad", "two lines of it"]
    assert last_words("\n".join([*first, "", HANDLING, "", *last, "", ""])) == "\n".join(last)


def test_the_exception_that_was_handled_is_shown_when_it_has_the_user_s_frames() -> None:
    first = [HEAD, frame("/w/train.py"), *pandas(2), "KeyError: 1"]
    last = [HEAD, *pandas(3), "ValueError: bad"]
    shown = last_words("\n".join([*first, "", HANDLING, "", *last])).split("\n")
    assert shown[:3] == [HEAD, *frame("/w/train.py").split("\n")]
    assert "KeyError: 1" in shown and HANDLING in shown and shown[-1] == "ValueError: bad"


def test_a_recursion_is_cut_and_a_long_error_too() -> None:
    own = [frame("/w/train.py", each) for each in range(100)]
    shown = last_words("\n".join([HEAD, *own, "RecursionError: too deep"])).split("\n")
    assert "  … 92 frames of your own files left out" in shown and shown[-1] == "RecursionError: too deep"
    error = ["RuntimeError: many lines", *(f"line {each}" for each in range(18))]
    shown = last_words("\n".join([HEAD, frame("/w/train.py"), *error])).split("\n")
    assert shown[-2:] == ["… 7 more lines", "line 17"] and "RuntimeError: many lines" in shown


def test_a_syntax_error_and_what_is_no_python() -> None:
    text = '  File "train.py", line 3\n    x = = 1\n        ^\nSyntaxError: invalid syntax'
    assert last_words(text) == text
    inside = "\n".join([HEAD, frame("/w/train.py"), text.replace("train", "/w/other")])
    assert last_words(inside) == inside
    assert last_words("bash: line 1: nothing: command not found\n") == "bash: line 1: nothing: command not found"


def test_a_traceback_that_much_else_follows_is_not_the_end() -> None:
    lines = [HEAD, frame("/w/train.py"), "ValueError: caught", *(f"epoch {each}" for each in range(30))]
    assert last_words("\n".join(lines)) == "\n".join(f"epoch {each}" for each in range(10, 30))
