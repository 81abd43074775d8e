"""Every command that can be typed, and the function that does it, as `module:function` below `roost.cli.commands`.

A module is loaded when one of its commands is typed. So that `roost --help` loads none, the commands of the first level have
their sentence here; that of the others is the first of their docstrings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Command:
    function: str
    sentence: str = ""
    settings: Mapping[str, bool] = field(default_factory=dict)
    """Settings of the parser."""


@dataclass(frozen=True)
class Noun:
    """A group of commands about one thing."""

    sentence: str
    commands: Mapping[str, Command]


ROOT: dict[str, Command | Noun] = {
    "up": Command("server:up", "Start the control plane here, or find it."),
    "down": Command("server:down", "End the control plane here; runs go on."),
    "status": Command("server:status", "Show where the control plane answers."),
    "open": Command("studio:open_studio", "Print a link to the studio, the pages that show runs, and open it."),
    "submit": Command(
        "submit:submit",
        "Run a script and stream its output.",
        # Options come before the script; whatever stands after it is the script's own.
        {"allow_interspersed_args": False, "ignore_unknown_options": True},
    ),
    "doctor": Command("doctor:doctor", "Look for what is wrong, and say what to do."),
    "du": Command("upkeep:du", "Show what takes room."),
    "gc": Command("upkeep:gc", "Free room."),
    "backup": Command("backups:backup", "Write everything to one file."),
    "restore": Command("backups:restore", "Fill an empty home with a back-up."),
    "completion": Command("completion:completion", "Print the completion script of a shell."),
    "run": Noun(
        "List, follow, compare, tag, cancel, repeat, delete runs.",
        {
            "list": Command("runs.listing:listing"),
            "show": Command("runs.details:show"),
            "logs": Command("runs.logs:logs"),
            "metrics": Command("runs.metrics:metrics"),
            "compare": Command("runs.comparison:compare"),
            "tag": Command("runs.labels:tag"),
            "name": Command("runs.labels:name"),
            "describe": Command("runs.labels:describe"),
            "cancel": Command("runs.actions:cancel"),
            "download": Command("runs.actions:download"),
            "repeat": Command("runs.actions:repeat"),
            "delete": Command("runs.actions:delete"),
        },
    ),
    "experiment": Noun(
        "Look at experiments; archive, reactivate and delete them.",
        {
            "list": Command("experiments:listing"),
            "show": Command("experiments:show"),
            "archive": Command("experiments:archive"),
            "reactivate": Command("experiments:reactivate"),
            "delete": Command("experiments:delete"),
        },
    ),
    "workspace": Noun(
        "Look at the workspaces of this control plane.",
        {"list": Command("workspaces:listing")},
    ),
    "env": Noun(
        "Look at environments, build them ahead, free what they take.",
        {
            "list": Command("environments:listing"),
            "show": Command("environments:show"),
            "build": Command("environments:build"),
            "lock": Command("environments:lock"),
            "archive": Command("environment_archives:archive"),
            "prune": Command("environments:prune"),
        },
    ),
    "compute": Noun(
        "Look at compute targets; make, change and delete clusters.",
        {
            "list": Command("compute:listing"),
            "show": Command("compute:show"),
            "nodes": Command("compute:nodes"),
            "create": Command("compute:create"),
            "update": Command("compute:update"),
            "preempt": Command("compute:preempt"),
            "delete": Command("compute:delete"),
        },
    ),
    "secret": Noun(
        "Set, list and delete secrets of the workspace.",
        {"set": Command("secrets:put"), "list": Command("secrets:listing"), "delete": Command("secrets:delete")},
    ),
    "data": Noun(
        "Look at datasets; register, upload and download data.",
        {
            "list": Command("data:listing"),
            "show": Command("data:show"),
            "register": Command("data:register"),
            "upload": Command("data:upload"),
            "download": Command("data:download"),
            "unregister": Command("data:unregister"),
        },
    ),
    "model": Noun(
        "Look at models; register, download, tag and delete them.",
        {
            "list": Command("models:listing"),
            "show": Command("models:show"),
            "register": Command("models:register"),
            "download": Command("models:download"),
            "tag": Command("models:tag"),
            "delete": Command("models:delete"),
            "export-onnx": Command("model_export:export_onnx"),
        },
    ),
    "datastore": Noun(
        "Look at the places where data is; register and unregister them.",
        {
            "list": Command("datastores:listing"),
            "show": Command("datastores:show"),
            "register": Command("datastores:register"),
            "default": Command("datastores:default"),
            "unregister": Command("datastores:unregister"),
        },
    ),
    "endpoint": Noun(
        "Serve models: deploy, try, change, watch and delete endpoints.",
        {
            "deploy": Command("endpoints.deployments:deploy"),
            "list": Command("endpoints.listing:listing"),
            "show": Command("endpoints.details:show"),
            "logs": Command("endpoints.logs:logs"),
            "test": Command("endpoints.requests:test"),
            "update": Command("endpoints.deployments:update"),
            "delete": Command("endpoints.deployments:delete"),
            "bench": Command("endpoints.requests:bench"),
            "keys": Command("endpoints.keys:keys"),
            "records": Command("endpoints.records:records"),
        },
    ),
}
