"""A run's files: uploads from the script (checked in `uploads.py`), names, downloads. All requests go through the run's link;
bytes never do.
"""

import os
from typing import Any, List, Optional, Sequence, Tuple

from roost_job.exceptions import UserErrorException
from roost_job.tracking import uploads


class RunFiles(uploads.Uploads):
    """The file calls of a run. `_link` comes from the run."""

    _link: Any

    def get_file_names(self) -> List[str]:
        """The names of the run's files, sorted."""
        return self._names("")

    def download_file(self, name: str, output_file_path: Optional[str] = None) -> None:
        """Writes a file of the run to `output_file_path`: a file's path, or a folder, where it keeps its own name."""
        uploads.check_file_name(name)
        target = os.path.abspath(
            os.fsdecode(output_file_path) if output_file_path is not None else os.path.basename(name)
        )
        into_folder = output_file_path is not None and str(output_file_path).endswith(("/", os.sep))
        if into_folder or os.path.isdir(target):
            target = os.path.join(target, os.path.basename(name))
        self._fetch(name, target)

    def download_files(
        self,
        prefix: Optional[str] = None,
        output_directory: Optional[str] = None,
        output_paths: Optional[Sequence[str]] = None,
        append_prefix: bool = True,
    ) -> None:
        """Downloads the run's files, or those below the folder `prefix`.

        In `output_directory` they keep their paths; with `append_prefix=False` without the prefix. Alternatively, `output_paths`
        gives one path for each file, in the order of `get_file_names`.
        """
        if output_directory is not None and output_paths is not None:
            raise UserErrorException("Give `output_directory` or `output_paths`, not both.")
        folder = (prefix or "").strip("/")
        found = self._names(folder)
        if folder:
            found = [name for name in found if name.startswith(folder + "/")]
        if output_paths is not None:
            if len(output_paths) != len(found):
                raise UserErrorException("There are %d `output_paths` for %d files." % (len(output_paths), len(found)))
            targets = [os.path.abspath(os.fsdecode(path)) for path in output_paths]
        else:
            cut = len(folder) + 1 if folder and not append_prefix and output_directory is not None else 0
            targets = [_inside(os.path.abspath(output_directory or "."), name[cut:]) for name in found]
        for name, target in zip(found, targets):
            self._fetch(name, target)

    def _names(self, prefix: str) -> List[str]:
        return sorted(self._link.ask("files", prefix=prefix))

    def _fetch(self, name: str, target: str) -> None:
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
        except OSError as error:
            raise UserErrorException("The folder for %s cannot be made: %s." % (target, error.strerror)) from None
        self._link.ask("download", name=name, path=target)

    def _send_one(self, name: str, path_or_stream: Any) -> None:
        with uploads.as_file(path_or_stream) as path:
            self._link.ask("upload", files=[[name, path]])

    def _send(self, files: Sequence[Tuple[str, str]], timeout_seconds: Optional[float]) -> None:
        bounds = {} if timeout_seconds is None else {"timeout_seconds": timeout_seconds}
        for batch in uploads.batches(files):
            self._link.ask("upload", files=batch, **bounds)


def _inside(folder: str, name: str) -> str:
    """The path of a run's file below `folder`; a name that leads outside is refused."""
    target = os.path.normpath(os.path.join(folder, name))
    if os.path.commonpath([folder, target]) != folder:
        raise UserErrorException("The file name %.200r leads out of %s." % (name, folder))
    return target
