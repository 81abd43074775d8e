"""An article's code blocks as one script: a Markdown file whose fences say what each block is.

    ```python [STORY …]         printed by the article; run as it stands, but for the changes that the test names
    ```python reader [STORY …]  what a reader adds: a slip mended, a run submitted, a result looked at
    ```yaml FILE [STORY …]      printed by the article; written to the file
    ```python top-of-FILE       printed by the article as the first lines of a training script

With names of stories behind it a block belongs to these alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_FENCE = re.compile(r"^```(python|yaml) ?([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_TOP = "top-of-"


@dataclass(frozen=True)
class Block:
    line: int
    kind: str
    """`python`, `reader`, `yaml` or `top`."""
    file: str
    """Of the last two."""
    code: str


def script(text: str, story: str, stories: Sequence[str], changes: Mapping[str, str]) -> str:
    """The blocks of one story, in order. Changes are made in what the article prints: each has to find something there."""
    parts = []
    used = set()
    for block in _blocks(text, story, stories):
        code = block.code
        if block.kind != "reader":
            for old, new in changes.items():
                used |= {old} if old in code else set()
                code = code.replace(old, new)
        parts.append(f"# --- {block.kind}, line {block.line}\n{_statement(block, code)}")
    assert used == set(changes), f"not in the article: {set(changes) - used}"
    return "\n".join(parts)


def _blocks(text: str, story: str, stories: Sequence[str]) -> Iterator[Block]:
    for found in _FENCE.finditer(text):
        words = found[2].split()
        wanted = [word for word in words if word in stories]
        if wanted and story not in wanted:
            continue
        rest = [word for word in words if word not in stories]
        kind, file = found[1], ""
        if kind == "yaml":
            (file,) = rest
        elif rest == ["reader"]:
            kind = "reader"
        elif rest:
            (word,) = rest
            assert word.startswith(_TOP), word
            kind, file = "top", word.removeprefix(_TOP)
        yield Block(text[: found.start()].count("\n") + 1, kind, file, found[3])


def _statement(block: Block, code: str) -> str:
    if block.kind == "yaml":
        return f"with open({block.file!r}, 'w') as file:\n    file.write({code!r})\n"
    if block.kind == "top":
        return f"rest = open({block.file!r}).read()\nwith open({block.file!r}, 'w') as file:\n    file.write({code!r} + rest)\n"
    return code
