"""Arguments and options that several commands have."""

import typer

AS_JSON = typer.Option(False, "--json", help="Print JSON.")
YES = typer.Option(False, "--yes", "-y", help="Do not ask.")
ENDPOINT = typer.Argument(help="An endpoint's name.", metavar="NAME")
