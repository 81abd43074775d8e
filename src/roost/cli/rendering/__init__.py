"""What people see. Here are the names that most commands use; `documents.py` and `drawing.py` have the metrics that are drawn,
`build_progress.py` has the line below a build's log.
"""

from roost.cli.rendering.formats import ago, as_json, clock, count, duration, labels, number, size, sparkline
from roost.cli.rendering.progress_bar import progress
from roost.cli.rendering.tables import compact, table
from roost.cli.rendering.text import clean, clipped, is_coloured, status, styled, wide

__all__ = [
    "ago",
    "as_json",
    "clean",
    "clipped",
    "clock",
    "compact",
    "count",
    "duration",
    "is_coloured",
    "labels",
    "number",
    "progress",
    "size",
    "sparkline",
    "status",
    "styled",
    "table",
    "wide",
]
