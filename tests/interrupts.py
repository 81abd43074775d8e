"""A plugin of pytest for the parts of the real tests: an interrupt stays one. What a test waits for may turn it into an error of
its own (`wait_for_completion` does); a part that is cut off for time would count that as a failed test."""

import signal
from collections.abc import Generator
from types import FrameType

import pytest

_came = False


def pytest_configure() -> None:
    def note(number: int, frame: FrameType | None) -> None:
        global _came
        _came = True
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, note)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    global _came
    _came = False
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    return (yield from _kept())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    return (yield from _kept())


def _kept() -> Generator[None, object, object]:
    try:
        return (yield)
    except BaseException:
        if _came:
            raise KeyboardInterrupt from None
        raise
