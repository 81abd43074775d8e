"""Runs a notebook as the script of a job: `python -m roost_job.notebooks NOTEBOOK OUTPUT OPTIONS`, OPTIONS as JSON. papermill and
the notebook's kernel come from the run's environment. The output of cells goes to the run's log while they run.
"""

import json
import logging
import os
import sys
from typing import Sequence

from roost_job.exceptions import UserErrorException
from roost_job.libraries import need


def run(notebook: str, output: str, options: str) -> None:
    """UserErrorException when a cell fails; the output up to there is stored."""
    papermill = need("papermill", "A notebook is run by papermill")
    if os.path.dirname(output):
        os.makedirs(os.path.dirname(output), exist_ok=True)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    try:
        papermill.execute_notebook(notebook, output, progress_bar=False, log_output=True, **json.loads(options))
    except papermill.exceptions.PapermillExecutionError as error:
        raise UserErrorException(
            "A cell of %s failed: %s: %s" % (notebook, error.ename, error.evalue),
            hint="The cells up to there are in %s." % output,
        ) from None


def main(argv: Sequence[str]) -> int:
    try:
        run(*argv)
    except UserErrorException as error:
        sys.stderr.write("%s\n" % error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
