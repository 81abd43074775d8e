"""`RunDetails(run).show()`: in a notebook, a small view of the run as it is now, with a link to its live page; in a terminal,
only the link.
"""

import builtins
import html
from typing import Any

from roost.domain.errors import InvalidInput
from roost.sdk.core import html_tables
from roost.sdk.runs.runs import Run
from roost.transport.client import path_of

_SHOWN = 20


class RunDetails:
    """A run's status and metrics at the time they are shown."""

    def __init__(self, run_instance: Run) -> None:
        if not isinstance(run_instance, Run):
            raise InvalidInput(
                f"RunDetails shows a Run, got {type(run_instance).__name__}.", hint="RunDetails(experiment.submit(src))"
            )
        self._run = run_instance

    def show(self, render_lib: object = None, widget_settings: object = None) -> None:  # noqa: ARG002 - the SDK's own
        """Shows it once; the linked page updates itself."""
        if hasattr(builtins, "__IPYTHON__"):
            from IPython.display import HTML, display  # type: ignore[import-not-found]  # noqa: PLC0415 - a notebook's own

            display(HTML(self._repr_html_()))
        else:
            print(f"{self._run.id}: {self._run.get_status()}\n{self._run.get_portal_url()}")

    def get_widget_data(self, widget_settings: object = None) -> dict[str, Any]:  # noqa: ARG002 - the SDK's own
        """The data that is shown: the run's details and metrics."""
        return {"run_properties": self._run.get_details(), "run_metrics": self._run.get_metrics()}

    def _repr_html_(self) -> str:
        run = self._run
        status = run.get_status()
        cells = {"Experiment": run.experiment.name, "Id": run.id, "Status": status}
        head = html_tables.table(cells, {"Details Page": ("Link to Roost", run.get_portal_url())})
        found = run._connection.client.call("GET", path_of("runs", run.id, "metrics", "summary"))["metrics"]
        rows = "".join(
            f"<tr><td>{html.escape(each['name'])}</td><td>{each['count']}</td><td>{html.escape(_last(each))}</td></tr>"
            for each in found[:_SHOWN]
        )
        more = f"<p>… and {len(found) - _SHOWN} more metrics on its page</p>" if len(found) > _SHOWN else ""
        heads = "<tr><th>Metric</th><th>Points</th><th>Last</th></tr>"
        return head + (f"<table>{heads}{rows}</table>{more}" if found else "")


def _last(metric: dict[str, Any]) -> str:
    value = metric["last"]
    if metric["kind"] != "scalar":
        return str(metric.get("text") or metric["kind"])
    return str(value["float"]) if isinstance(value, dict) else f"{value:.6g}"
