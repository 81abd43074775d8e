"""Text for a terminal: harmless, as wide as there is room, coloured where somebody sees it."""

import os
import sys
import unicodedata

STATUS_STYLES = {
    "Completed": "green",
    "Healthy": "green",
    "Unhealthy": "red",
    "Transitioning": "cyan",
    "Failed": "red",
    "Canceled": "yellow",
    "CancelRequested": "yellow",
    "NotResponding": "magenta",
    "Running": "cyan",
    "Finalizing": "cyan",
    "ok": "green",
    "warn": "yellow",
    "bad": "red",
}
"""Colours of statuses and states."""


_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "magenta": 35, "cyan": 36}


def clean(text: str) -> str:
    """Somebody's text in one line, without what would steer the terminal: escape sequences, listeners, reversed writing."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if c in "\r\n\t" else _harmless(c) for c in text)


def _harmless(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Cc", "Cs", "Zl", "Zp"):
        return "\ufffd"
    return "" if category == "Cf" and character != "\u200d" else character  # which joins the parts of an emoji


def wide(text: str) -> int:
    """How many columns a terminal gives it."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def clipped(text: str, width: int) -> str:
    """Text that takes at most so many columns; one that was cut ends with `…`."""
    if wide(text) <= width:
        return text
    while text and wide(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def styled(text: str, style: str) -> str:
    """Coloured where somebody sees it and wants it: a terminal, and no NO_COLOR."""
    if not style or not text or not is_coloured():
        return text
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def is_coloured() -> bool:
    """Whether somebody sees colours and wants them."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def status(word: str) -> str:
    """A status, in its colour."""
    return styled(word, STATUS_STYLES.get(word, ""))
