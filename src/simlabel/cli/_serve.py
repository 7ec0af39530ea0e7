"""`simlabel serve`: a tagging desk for a team."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simlabel.cli import _options as options
from simlabel.cli import _table_options as tables
from simlabel.cli._console import guarded, say
from simlabel.cli._wording import in_shell

_READ = ("label_column", "separator", "id_column")  # options that say how the table is read


@guarded
def serve_verb(
    desk: Annotated[Path, typer.Argument(help="A folder, which is made if there is none; or a backup.")],
    table: Annotated[
        Path | None, typer.Option("--import", help="A table to start from; rows with tags are done.")
    ] = None,
    label_column: Annotated[str | None, typer.Option(help="The column of tags in that table.")] = None,
    separator: Annotated[
        str | None, typer.Option(help="What stands between tags; by default found out.")
    ] = None,
    id_column: tables.IdColumn = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; others than this machine's need tokens.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 8123,
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy", help="A proxy on this machine passes requests on: believe its headers."
        ),
    ] = False,
    accept_above: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Let suggestions from this probability on become tags by themselves."
        ),
    ] = None,
    new_token: Annotated[
        str | None,
        typer.Option(help="Make a token NAME:ROLE (reading, tagging, administration), show it, and leave."),
    ] = None,
    cancel_import: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Cancel an import that is not finished, and leave."),
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="A line for each request, without its content.")] = False,
    debug: options.Debug = False,
) -> None:
    """Serve a tagging desk: a page and an interface for programs, that learns while people tag."""
    try:
        from simlabel.server import DeskError, ImportOptions, check_table, serve
        from simlabel.server import cancel_import as cancel
        from simlabel.server import new_token as make_token
    except ImportError as error:
        if (error.name or "").startswith("simlabel"):
            raise
        raise ImportError(f"serve needs {error.name}: pip install 'simlabel[serve]'.") from None
    if new_token is not None:
        name, _, role = new_token.rpartition(":")
        print(make_token(desk, name, role))
        say("keep it: it is not shown again.")
        return
    if cancel_import is not None:
        cancel(desk, cancel_import)
        say(f"import {cancel_import} is canceled; the rows that are in stay.")
        return

    def tell(address: str) -> None:
        print(f"{desk} is at {address}  (Ctrl-C ends it)", flush=True)

    named = table.name if table else "table"
    read = ImportOptions(name=named, label_column=label_column, separator=separator, id_column=id_column)
    if table is not None:
        try:
            check_table(table, read)
        except DeskError as error:
            raise typer.BadParameter(f"--import {table}: {in_shell(str(error), _READ)}") from None
    serve(desk, tell, host, port, accept_above, table, read, log, say, behind_proxy)
