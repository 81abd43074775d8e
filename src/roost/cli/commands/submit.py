"""`roost submit`: a script and its arguments, streamed until it ends."""

import re
from pathlib import Path

import typer

from roost.cli import session
from roost.cli.commands.runs import streaming
from roost.cli.inputs import datasets, environments, parsing
from roost.domain.errors import InvalidInput
from roost.sdk.runs import distributed
from roost.sdk.runs.distributed import Distributed
from roost.sdk.runs.experiments import Experiment
from roost.sdk.runs.submissions import ScriptRunConfig
from roost_job.listing import some

_PYTHON = (".py", ".pyw", ".pyz", ".pyc", "")


def submit(
    script: str = typer.Argument(help="The script to run."),
    args: list[str] = typer.Argument(None, help="The script's own arguments; options of `submit` stand before SCRIPT."),
    experiment: str = typer.Option("", "--experiment", "-e", help="Its experiment; the script's name by default."),
    source: Path | None = typer.Option(None, help="The folder to send; that of the script by default."),
    target: str = typer.Option("local", help="Where to run it."),
    environment: str = typer.Option(
        "", "--environment", help="A registered or curated environment, or a requirements or conda file."
    ),
    inputs: list[str] = typer.Option(
        [],
        "--input",
        help="A registered dataset; its files are mounted, and the variable NAME is their path. Repeated.",
        metavar="NAME=DATASET[:VERSION]",
    ),
    nodes: int = typer.Option(1, "--nodes", help="How many nodes it gets, all at once."),
    processes: int = typer.Option(1, "--processes-per-node", help="How many processes each node has."),
    launch: str = typer.Option("", "--launch", help="How they find each other: pytorch, mpi or tensorflow."),
    servers: int = typer.Option(0, "--parameter-servers", help="Of TensorFlow, beside a worker on each node."),
    name: str = typer.Option("", help="A display name."),
    tag: list[str] = typer.Option([], help="k=v, repeated."),
    timeout: float | None = typer.Option(None, help="Seconds it may run."),
    detach: bool = typer.Option(False, "--detach", "-d", help="Print the run's id and return."),
    as_json: bool = typer.Option(False, "--json", help="Print the run as JSON; its log goes to stderr."),
) -> None:
    """Run a script and stream its output. Exit code 1 when it does not complete; Ctrl-C leaves it running."""
    if script.startswith("-"):
        raise InvalidInput(
            f"`roost submit` has no option {script}.",
            hint="Options of the script stand after it: roost submit train.py --epochs 3. Those of submit: roost submit --help",
        )
    tags = parsing.tags(tag)
    wanted = datasets.parse_inputs(inputs) if inputs else {}
    if environment:
        environments.environment_file(environment)
    job = _distributed(launch, nodes, processes, servers)
    _check(script, source)
    folder = source if source is not None else Path(script).parent
    config = ScriptRunConfig(
        source_directory=folder,
        script=script if source is not None else Path(script).name,
        arguments=args or [],
        compute_target=target,
        max_run_duration_seconds=timeout,
        distributed_job_config=job,
    )
    if job is None:
        config.run_config.node_count = nodes
    config.check()
    ws = session.workspace()
    if environment:
        config.run_config.environment = environments.find_environment(ws, environment)
    config.run_config.data = datasets.run_inputs(ws, wanted)
    run = Experiment(ws, experiment or _experiment(script)).submit(config, tags=tags, display_name=name)
    streaming.follow(run, detach, as_json)


def _distributed(launch: str, nodes: int, processes: int, servers: int) -> Distributed | None:
    """What these options mean; None for the script once on each node. InvalidInput for what they cannot mean together."""
    for option, count, least in (
        ("--nodes", nodes, 1),
        ("--processes-per-node", processes, 1),
        ("--parameter-servers", servers, 0),
    ):
        if count < least:
            raise InvalidInput(f"{option} must be at least {least}, got {count}.")
    if servers and launch != "tensorflow":
        raise InvalidInput("--parameter-servers are TensorFlow's.", hint="Add --launch tensorflow.")
    match launch:
        case "pytorch":
            return distributed.PyTorchConfiguration(process_count=nodes * processes, node_count=nodes)
        case "mpi":
            return distributed.MpiConfiguration(process_count_per_node=processes, node_count=nodes)
        case "tensorflow" if processes == 1:
            return distributed.TensorflowConfiguration(worker_count=nodes, parameter_server_count=servers)
        case "tensorflow":
            raise InvalidInput(
                "With --launch tensorflow each node has one worker.", hint="Leave --processes-per-node out."
            )
        case "" if processes == 1:
            return None
        case "":
            raise InvalidInput(
                f"{processes} processes on a node have to be started somehow.",
                hint="Add --launch pytorch or --launch mpi.",
            )
        case _:
            raise InvalidInput(f"There is no launch {launch!r}.", hint="--launch pytorch, mpi or tensorflow.")


def _check(script: str, source: Path | None) -> None:
    """That it is a Python script, as far as can be seen without reading it."""
    path = (source or Path()) / script
    if path.is_dir():
        inside = sorted(each.name for each in path.glob("*.py"))
        raise InvalidInput(
            f"{script!r} is a folder, not a script.",
            hint=f"roost submit --source {script} SCRIPT. Scripts in it: {some(inside) or 'none'}.",
        )
    if path.is_file() and path.suffix not in _PYTHON and not _names_python(path):
        raise InvalidInput(
            f"{script!r} is not a Python script.",
            hint=parsing.near_files(path, ".py")
            or "`roost submit` runs Python. Other programs: ScriptRunConfig(command=…) in Python, or a script that calls them.",
        )


def _names_python(path: Path) -> bool:
    with path.open("rb") as file:
        first = file.readline(200)
    return first.startswith(b"#!") and b"python" in first


def _experiment(script: str) -> str:
    """An experiment's name from a script's."""
    return re.sub(r"[^\w-]+", "-", Path(script).stem, flags=re.ASCII).strip("-_") or "scripts"
