"""`roost up`, `down`, `status`: the control plane on this machine."""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import typer

from roost.cli import session
from roost.cli.inputs.parameters import AS_JSON
from roost.domain.errors import InvalidInput
from roost.sdk.connection import discovery, embedded, holders
from roost.sdk.connection.connections import connect, named_url
from roost.sdk.operations import systemd
from roost.serving import finding


def up(
    port: int | None = typer.Option(
        None, min=0, max=65535, help="Port to listen on; that of the last time, or any free one."
    ),
    install: bool = typer.Option(
        False, "--install", help="As a service of yours (systemd) that comes back with the machine."
    ),
    uninstall: bool = typer.Option(False, "--uninstall", help="Remove that service, and end it."),
    as_json: bool = AS_JSON,
) -> None:
    """Start the control plane on this machine, or find the one that runs."""
    home = discovery.home()
    if install and uninstall:
        raise InvalidInput("Both --install and --uninstall are given.", hint="Give one or the other.")
    if uninstall:
        _uninstall(home, as_json)
        return
    unit = _install(home, port) if install else None
    record = embedded.ensure(home, port=port, take_over=True)
    if as_json:
        print(json.dumps({**asdict(record), "unit": str(unit) if unit else None}, indent=2))
        return
    print(f"Roost {record.version} answers at {record.url} (process {record.pid}, home {home}).")
    _say_who_is_used()
    for words in systemd.words_about(unit) if unit else ():
        print(words)
    if port is not None and not record.url.endswith(f":{port}"):
        print(f"It ran already, not on port {port}: `roost down` first to move it.", file=sys.stderr)


def _install(home: Path, port: int | None) -> Path:
    """The service, enabled and started; a control plane that was started otherwise gives way to it."""
    systemd.require_systemd(home)
    record = embedded.find(home)
    if record is not None:
        embedded.stop(record, home)
    return systemd.install(home, port)


def _uninstall(home: Path, as_json: bool) -> None:
    there = systemd.uninstall(home)
    if as_json:
        print(json.dumps({"unit": systemd.name(home), "removed": there}))
    elif there:
        print(
            f"The service {systemd.name(home)} is removed. Runs that were going go on; `roost up` starts without a service."
        )
    else:
        print(f"No service is installed for {home}.")


def down(as_json: bool = AS_JSON) -> None:
    """End the control plane on this machine. Runs go on, what they log is sent when it is back; endpoints go on serving."""
    home = discovery.home()
    pid = embedded.end(home)
    serving = {front.name: front.scoring_uri for front in finding.alive(home)}
    if as_json:
        print(json.dumps({"home": str(home), "ended": pid is not None, "serving": serving}))
        return
    if pid is None:
        print(f"No control plane runs for {home}.")
    else:
        print(f"The control plane of {home} (process {pid}) has ended. Runs that were going go on.")
    _say_who_is_used()
    for name, url in serving.items():
        print(f"Endpoint {name} goes on serving at {url}; to end it: roost endpoint delete {name}")


def _say_who_is_used() -> None:
    """That other commands go elsewhere, when they do."""
    if url := named_url():
        print(f"ROOST_URL is set: all other commands use {url}, not this one.", file=sys.stderr)


def status(as_json: bool = AS_JSON) -> None:
    """Show the control plane: address, process, version, home. Starts nothing; exit code 3 when there is none."""
    home = discovery.home()
    facts = _remote() if session.is_elsewhere() else _local()
    holder = None if facts or session.is_elsewhere() else holders.find(home)
    if as_json:
        held = {"holder": holder.pid} if holder else {}
        print(json.dumps({"running": bool(facts), "home": str(home), **facts, **held}, indent=2))
    elif facts:
        for name in ("url", "version", "pid", "home", "active_runs"):
            if name in facts:
                print(f"{name.replace('_', ' '):12} {facts[name]}")
    elif holder:
        print(f"Process {holder.pid} holds {home} since {holder.age:.0f} s and has not said where it answers.")
        print("`roost up` waits for it, and ends it when it stays silent; `roost down` ends it now.")
    else:
        print(f"No control plane runs for {home}. Start it with: roost up")
    if not facts:
        raise typer.Exit(3)


def _local() -> dict[str, object]:
    home = discovery.home()
    record = embedded.find(home)
    if record is None:
        return {}
    facts = embedded.ask_facts(record, home)
    return {"url": record.url, "pid": record.pid, "version": record.version, "home": str(home), **facts}


def _remote() -> dict[str, object]:
    connection = connect()
    facts = connection.client.call("GET", "/api/server")
    return {"url": connection.url, **{name: facts[name] for name in ("pid", "version", "home", "active_runs")}}
