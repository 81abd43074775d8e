"""The spool: stores log calls. `Writer.number` and `Writer.obj` append one frame (`records.py`) with one write, and return.

A Writer never raises because of the disk. When a write fails, it removes the partial frame, counts the dropped records, prints
one warning on stderr, and logs the count as the metric `roost.dropped` when writing works again. Start at `Writer.number`, the
fast path; `_append` is the careful one.
"""

import atexit
import binascii
import errno
import os
import struct
import sys
from threading import RLock
from time import time
from typing import Any, Callable, Dict, Optional
from zlib import crc32

from roost_job.exceptions import UserErrorException
from roost_job.tracking import records
from roost_job.tracking.values import check_name, check_step, number

DROPPED = "roost.dropped"
"""The metric with the number of records that a full disk has lost."""

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
_NUMBER = struct.Struct("<II%ds" % records.FLOAT_BODY.size)
_LENGTH = records.FLOAT_BODY.size
_WHOLE = _NUMBER.size
# Bound once: each saves a lookup in every log call.
_FLOAT, _INT, _NO_STEP = records.FLOAT, records.INT, records.NO_STEP
_pack_frame, _pack_float, _pack_int = _NUMBER.pack, records.FLOAT_BODY.pack, records.INT_BODY.pack
_getpid, _write = os.getpid, os.write
_pid = 0
"""The id of this process; 0 where Python reports no forks (3.6): then each call asks the system, a tenth of its cost."""


def _forked() -> None:
    global _pid
    _pid = _getpid()


if hasattr(os, "register_at_fork"):
    _forked()
    os.register_at_fork(after_in_child=_forked)


class _File(object):
    """An open spool with its header, and the names that it defines."""

    __slots__ = ("fd", "names", "next_name", "path")

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path
        self.names: Dict[str, int] = {}
        self.next_name = 0


_NOT_READY = _File(-1, "")


class _Sheet(object):
    """The writing state of one process. A forked child takes a new one: another lock, another file, other names."""

    __slots__ = ("dropped", "error", "file", "lock", "pid", "ready", "warned")

    def __init__(self, pid: int) -> None:
        self.pid = pid
        # Re-entrant, for a signal handler that logs while its own thread is in a log call.
        self.lock = RLock()
        self.file: Optional[_File] = None
        # The file again, for the fast path; _NOT_READY while there is none, or while dropped records must be logged in it first.
        self.ready = _NOT_READY
        self.dropped = 0
        self.error: Optional[OSError] = None
        self.warned = False


class Writer(object):
    """Appends to this process's spool in `folder`.

    Any thread may call; calls are ordered. After a fork the child continues in its own spool. The file is created with the first
    record. `space` is "user", or "system" for the agent's measurements.
    """

    def __init__(self, folder: str, rank: int = 0, space: str = "user") -> None:
        self._folder = os.path.abspath(folder)
        self._rank = rank
        self._space = space
        self._sheet = _Sheet(_getpid())
        self._sheets = {self._sheet.pid: self._sheet}

    @property
    def path(self) -> Optional[str]:
        """The file that this process writes; None before its first record."""
        sheet = self._mine()
        return sheet.file.path if sheet.file else None

    def number(self, name: str, value: float, step: Optional[int] = None) -> None:
        """A float or an int; an int that does not fit in 64 bits becomes a float."""
        sheet = self._sheet
        if sheet.pid != (_pid or _getpid()):
            sheet = self._mine()
        with sheet.lock:
            file = sheet.ready
            try:
                key = file.names.get(name)
            except TypeError:  # a list, for example; check_name raises the right error
                key = None
            if key is None:
                check_name(name)
                self._number(name, 0, value, step)  # refuses a wrong value before a file is created for it
                self._careful(sheet, name, lambda key: records.frame(self._number(name, key, value, step)))
                return
            try:
                if type(value) is int:
                    body = _pack_int(_INT, key, _NO_STEP if step is None else step, time(), value)
                else:
                    body = _pack_float(_FLOAT, key, _NO_STEP if step is None else step, time(), value)
            except struct.error:
                body = self._number(name, key, value, step)
            data = _pack_frame(_LENGTH, crc32(body), body)
            try:
                written = _write(file.fd, data)
                if written == _WHOLE:
                    return
                whole = self._append(sheet, file.fd, data, written)
            except OSError as error:
                whole = self._take_back(sheet, file.fd, 0, error)
            if not whole and sheet.file is None:
                self._careful(sheet, name, lambda key: records.frame(self._number(name, key, value, step)))
            elif not whole:
                self._drop(sheet)

    def obj(self, name: str, kind: str, value: Any, step: Optional[int] = None) -> None:
        """A value that is not a plain number; `value` consists of JSON values."""
        check_name(name)
        at = _NO_STEP if step is None else check_step(step)
        now = time()
        trial = records.obj(0, at, now, kind, value)
        if len(trial) - records.FRAME.size > records.MAX_BODY:
            raise UserErrorException(
                "Metric %r would hold %d bytes, at most %d are allowed." % (name, len(trial), records.MAX_BODY),
                hint="Write it to a file and keep that with `run.upload_file`.",
            )
        sheet = self._mine()
        with sheet.lock:
            self._careful(sheet, name, lambda key: records.obj(key, at, now, kind, value))

    def close(self) -> None:
        """Closes the file. A later record starts another spool."""
        sheet = self._mine()
        with sheet.lock:
            self._abandon(sheet)

    # ---- below: the careful path, always with the sheet's lock held

    def _mine(self) -> _Sheet:
        """This process's sheet. Two concurrent threads of a forked child get the same one: setdefault is atomic."""
        pid = _getpid()
        sheet = self._sheet
        if sheet.pid != pid:
            sheet = self._sheets.setdefault(pid, _Sheet(pid))
            self._sheets = {pid: sheet}  # drops the others: an ancestor's pid may be reused
            self._sheet = sheet
        return sheet

    @staticmethod
    def _number(name: str, key: int, value: float, step: Optional[int]) -> bytes:
        """The body of a number that needs a further check: its step or its size."""
        at = _NO_STEP if step is None else check_step(step)
        if isinstance(value, int):
            if -(2**63) <= value < 2**63:
                return records.INT_BODY.pack(_INT, key, at, time(), value)
            value = number(name, value)
        return records.FLOAT_BODY.pack(_FLOAT, key, at, time(), value)

    def _careful(self, sheet: _Sheet, name: str, make: Callable[[int], bytes]) -> None:
        """Opens, logs the dropped count, defines the name, appends; counts the record as dropped when one of these fails."""
        for _ in range(2):  # a spool that fails for another reason than a full disk is replaced, once
            file = sheet.file or self._open(sheet)
            if file is None:
                break
            if not sheet.dropped or self._note_dropped(sheet, file):
                key = self._intern(sheet, file, name)
                if key is not None and self._append(sheet, file.fd, make(key)):
                    sheet.ready = file
                    return
            if sheet.file is file:
                break
        self._drop(sheet)

    def _open(self, sheet: _Sheet) -> Optional[_File]:
        nonce = binascii.hexlify(os.urandom(6)).decode("ascii")
        rank = "system" if self._space == "system" else str(self._rank)
        path = os.path.join(self._folder, "%s-%d-%s.spool" % (rank, sheet.pid, nonce))
        head = records.header(space=self._space, rank=self._rank, pid=sheet.pid, created=time())
        try:
            os.makedirs(self._folder, exist_ok=True)
            fd = os.open(path, _FLAGS, 0o600)
        except OSError as error:
            sheet.error = error
            return None
        # The sheet gets the file only after its header is written: a signal handler that logs meanwhile opens its own.
        if not self._append(sheet, fd, head):
            try:
                os.close(fd)
                os.unlink(path)
            except OSError:
                pass
            return None
        sheet.file = _File(fd, path)
        return sheet.file

    def _intern(self, sheet: _Sheet, file: _File, name: str) -> Optional[int]:
        key = file.names.get(name)
        if key is None:
            key = file.next_name
            file.next_name += 1
            if not self._append(sheet, file.fd, records.name(key, name)):
                return None
            file.names[name] = key
        return key

    def _note_dropped(self, sheet: _Sheet, file: _File) -> bool:
        count = sheet.dropped
        key = self._intern(sheet, file, DROPPED)
        if key is None or not self._append(sheet, file.fd, records.frame(self._number(DROPPED, key, count, None))):
            return False
        sheet.dropped -= count
        return True

    def _append(self, sheet: _Sheet, fd: int, data: bytes, done: int = 0) -> bool:
        """Appends all of `data` after the `done` bytes that are written, or nothing of it. False when it could not be written."""
        try:
            while done < len(data):
                done += _write(fd, data[done:])
            return True
        except OSError as error:
            return self._take_back(sheet, fd, done, error)

    def _take_back(self, sheet: _Sheet, fd: int, done: int, error: OSError) -> bool:
        """Removes the partial frame; abandons the file for a new one when that fails or the file itself is at fault."""
        sheet.error = error
        sheet.ready = _NOT_READY  # until the careful path has written again
        intact = error.errno in _FULL
        if done:
            try:
                os.ftruncate(fd, os.fstat(fd).st_size - done)
            except OSError:
                intact = False
        if not intact and sheet.file is not None and sheet.file.fd == fd:
            self._abandon(sheet, close=error.errno != errno.EBADF)  # closed by other code: the number may be theirs now
        return False

    def _abandon(self, sheet: _Sheet, close: bool = True) -> None:
        file, sheet.file, sheet.ready = sheet.file, None, _NOT_READY
        if file is not None and close:
            try:
                os.close(file.fd)
            except OSError:
                pass

    def _drop(self, sheet: _Sheet) -> None:
        sheet.dropped += 1
        sheet.ready = _NOT_READY
        if not sheet.warned:
            sheet.warned = True
            atexit.register(self._say_dropped)
            _say(
                "Roost cannot write metrics to %s (%s). The script goes on; what it logs is dropped and counted until writing "
                "works again." % (self._folder, sheet.error and (sheet.error.strerror or sheet.error))
            )

    def _say_dropped(self) -> None:
        sheet = self._sheet
        if sheet.dropped and sheet.pid == _getpid():
            _say("Roost had to drop %d metric records that could not be written to %s." % (sheet.dropped, self._folder))


def _say(text: str) -> None:
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass  # no stderr, or it is on the same full disk
