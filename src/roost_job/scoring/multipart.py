"""Parses the bodies of HTML forms: fields and files. Python 3.6 and later, standard library only."""

import io
import os
from email.message import Message
from typing import IO, Any, Iterator, List, Tuple, Union
from urllib.parse import parse_qsl

from roost_job.scoring.messages import Refused

MULTIPART, ENCODED = "multipart/form-data", "application/x-www-form-urlencoded"
FORMS = (MULTIPART, ENCODED)
_MOST_PARTS = 1000


class FileStorage(object):
    """A file of a form, with Flask's interface. It reads like an open file."""

    def __init__(self, content: bytes, filename: str, name: str, content_type: str) -> None:
        self.stream = io.BytesIO(content)
        self.filename = filename
        """The client's name for it: not a trusted path."""
        self.name = name
        self.content_type = self.mimetype = content_type
        self.content_length = len(content)

    def save(self, dst: Union[str, "os.PathLike[str]", IO[bytes]]) -> None:
        """Into a path, or an open file."""
        content = self.stream.getvalue()
        if hasattr(dst, "write"):
            dst.write(content)
            return
        with open(dst, "wb") as file:
            file.write(content)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.stream)

    def __bool__(self) -> bool:
        return bool(self.filename)


def parse(content_type: str, body: bytes) -> Tuple[List[Tuple[str, str]], List[Tuple[str, FileStorage]]]:
    """(fields, files) of a form; nothing for a body that is no form. Refused for a malformed form."""
    head = Message()
    head["content-type"] = content_type
    kind = head.get_content_type() if content_type else ""
    if kind == ENCODED:
        return parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True), []
    if kind != MULTIPART:
        return [], []
    boundary = head.get_param("boundary")
    if not isinstance(boundary, str) or not boundary:
        raise Refused("The request is a multipart form with no boundary.")
    fields: List[Tuple[str, str]] = []
    files: List[Tuple[str, FileStorage]] = []
    for name, filename, kind, content in _parts(body, b"--" + boundary.encode("utf-8")):
        if filename is None:
            fields.append((name, content.decode("utf-8", "replace")))
        else:
            files.append((name, FileStorage(content, filename, name, kind)))
    return fields, files


def _parts(body: bytes, mark: bytes) -> Iterator[Tuple[str, Any, str, bytes]]:
    """(name, file name or None, content type, content) of each part."""
    pieces = (b"\r\n" + body).split(b"\r\n" + mark, _MOST_PARTS + 2)
    if len(pieces) < 2 or len(pieces) > _MOST_PARTS + 2 or not pieces[-1].startswith(b"--"):
        raise Refused("The request's multipart form is cut short, or has more than %d parts." % _MOST_PARTS)
    for piece in pieces[1:-1]:
        head, found, content = piece.lstrip(b" \t").partition(b"\r\n\r\n")
        said = Message()
        for line in head.strip(b"\r\n").split(b"\r\n"):
            key, _, value = line.partition(b":")
            said[key.decode("latin-1").strip().lower() or "x"] = value.decode("utf-8", "replace").strip()
        name = said.get_param("name", header="content-disposition")
        if not found or name is None:
            raise Refused("A part of the request's multipart form has no name.")
        yield str(name), said.get_filename(), said.get_content_type(), content
