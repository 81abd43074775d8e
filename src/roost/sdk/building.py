"""An environment built ahead: a run of its own that lists what is installed. Whoever needs the same finds it there."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from roost.domain.errors import InvalidInput
from roost.sdk.environments import Environment
from roost.sdk.submissions import ScriptRunConfig

if TYPE_CHECKING:
    from roost.sdk.runs import Run
    from roost.sdk.workspaces import Workspace

EXPERIMENT = "prepare_image"
"""The name under which the SDK kept its builds."""
_SCRIPT = """
import sys
try:
    from importlib.metadata import distributions
except ImportError:
    from pkg_resources import working_set
    found = [(each.project_name, each.version) for each in working_set]
else:
    found = [(each.metadata["Name"], each.version) for each in distributions()]
print("Python %d.%d.%d" % sys.version_info[:3])
for name, version in sorted(set(found), key=lambda each: each[0].lower()):
    print("%s==%s" % (name, version))
"""


def build(environment: Environment, workspace: "Workspace") -> "Run":
    """Submits it; the run."""
    from roost.sdk.experiments import Experiment  # noqa: PLC0415 - experiments know environments: no circle

    if environment.python.user_managed_dependencies:
        raise InvalidInput(
            f"There is nothing to build in environment {environment.name!r}: its packages are managed by the user.",
            hint="Set python.user_managed_dependencies = False.",
        )
    with tempfile.TemporaryDirectory(prefix="roost-build-") as folder:
        Path(folder, "packages.py").write_text(_SCRIPT.lstrip(), encoding="utf-8")
        config = ScriptRunConfig(folder, script="packages.py", environment=environment)
        return Experiment(workspace, EXPERIMENT).submit(config, tags={"environment": environment.name})
