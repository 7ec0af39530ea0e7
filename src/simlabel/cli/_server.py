"""The commands of the tagging server: `serve` and `backup`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simlabel.cli import _options as options
from simlabel.cli._console import command, say


@command
def serve_command(
    folder: Annotated[
        Path, typer.Argument(help="Folder of the server's data, created if it does not exist; or a backup.")
    ],
    *,
    table: Annotated[
        Path | None, typer.Option("--import", help="A table to start from; rows with tags count as done.")
    ] = None,
    label_column: Annotated[str | None, typer.Option(help="The column of tags in that table.")] = None,
    separator: Annotated[str | None, typer.Option(help="Separator of the tags; detected by default.")] = None,
    columns: options.IdColumn,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any other than this machine's requires tokens.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 selects a free one.")] = 8123,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy", help="Trust the forwarded headers of a reverse proxy on this machine."
        ),
    ] = False,
    accept_above: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Accept suggestions automatically from this probability on."),
    ] = None,
    new_token: Annotated[
        str | None,
        typer.Option(help="Create a token NAME:ROLE (reading, tagging, administration), print it, and exit."),
    ] = None,
    cancel_import: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Cancel an unfinished import, and exit."),
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Log a line per request, without its content.")] = False,
) -> None:
    """Run a tagging server: a web page and an HTTP API, with a model that learns while people tag."""
    try:
        from simlabel import server
    except ImportError as error:
        if (error.name or "").startswith("simlabel"):
            raise
        raise ImportError(f"serve needs {error.name}: pip install 'simlabel[serve]'.") from None
    if new_token is not None:
        name, _, role = new_token.rpartition(":")
        print(server.new_token(folder, name, role))
        say("save the token: it is not shown again.")
        return
    if cancel_import is not None:
        server.cancel_import(folder, cancel_import)
        say(f"import {cancel_import} is canceled; the rows that were imported stay.")
        return

    def show_address(address: str) -> None:
        print(f"{folder} is at {address}  (Ctrl-C ends it)", flush=True)

    named = table.name if table else "table"
    imported = server.ImportOptions(
        name=named, label_column=label_column, separator=separator, id_column=columns.id_column
    )
    if table is not None:
        try:
            server.check_import(table, imported)
        except server.ServerError as error:
            raise typer.BadParameter(f"--import {table}: {error}") from None
    server.serve(folder, show_address, host, port, accept_above, table, imported, log, say, behind_proxy)


@command
def backup_command(
    folder: Annotated[Path, typer.Argument(help="Folder of the server's data.", exists=True)],
    file: Annotated[Path, typer.Argument(help="File to write; `simlabel serve FILE` opens it.")],
) -> None:
    """Copy the data of a tagging server to one file, with its model; the server may be running."""
    from simlabel.server import backup

    say(f"wrote {file}: {backup(folder, file):,} bytes")
