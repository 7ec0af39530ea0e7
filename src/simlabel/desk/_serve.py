"""`simlabel serve`: from a folder to an address that answers."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from simlabel.desk._changes import Who
from simlabel.desk._desk import Desk
from simlabel.desk._imports import ImportOptions
from simlabel.desk._people import LOCAL
from simlabel.desk._people import new_token as make_token
from simlabel.desk._problems import DeskError

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Settings:
    """How a desk is served.

    Attributes
    ----------
    host, port : str, int
        Where it listens; port 0 for any that is free.
    accept_above : float or None
        From which probability on a suggestion becomes a tag by itself; None for never.
    table : path or None
        A table to import at the start, with `label_column`, `separator` and `id_column`.
    log : bool
        Whether to write a line for each request, without its content.
    """

    host: str = "127.0.0.1"
    port: int = 8123
    accept_above: float | None = None
    table: Path | None = None
    label_column: str | None = None
    separator: str | None = None
    id_column: str | None = None
    log: bool = False


def serve(path: str | os.PathLike[str], settings: Settings, tell: Callable[[str], None]) -> None:
    """Open a desk and answer until Ctrl-C or SIGTERM; `tell` is given the address.

    Raises
    ------
    DeskError
        Where the folder is in use or cannot be opened, or another address than this machine's is wanted
        and there are no tokens.
    """
    import uvicorn

    from simlabel.desk._quiet import QuietServer
    from simlabel.desk.api import make_app

    desk = Desk(path, settings.accept_above)
    try:
        if settings.host not in _LOOPBACK and not desk.people.needed:
            raise DeskError(
                f"host {settings.host} can be reached by others, and there are no tokens: anybody could "
                f"change everything. Make one first: simlabel serve {path} --new-token NAME:administration."
            )
        listening = _listen(settings)
    except BaseException:
        desk.close()
        raise
    if settings.table is not None:
        _import(desk, settings)
    if settings.log:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    config = uvicorn.Config(
        make_app(desk),
        log_level="error",
        access_log=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
        server_header=False,
        limit_concurrency=1000,
        forwarded_allow_ips="127.0.0.1",
    )
    address = f"[{settings.host}]" if ":" in settings.host else settings.host
    tell(f"http://{address}:{listening.getsockname()[1]}/")
    try:
        QuietServer(config).run([listening])
    finally:
        desk.close()


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen()  # whoever reads the address may ask at once, and waits
    except OSError as error:
        listening.close()
        raise DeskError(
            f"port {settings.port} of {settings.host} cannot be had ({error.strerror}); choose another port."
        ) from None
    return listening


def _import(desk: Desk, settings: Settings) -> None:
    import shutil

    assert settings.table is not None
    place = desk.imports.place()
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(settings.table, place)
    options = ImportOptions(
        settings.table.name, settings.label_column, settings.separator, settings.id_column
    )
    desk.imports.add(LOCAL, place, options)


def new_token(path: str | os.PathLike[str], name: str, role: str) -> str:
    """Make a token for a desk that is not running; the secret, which is shown this once."""
    desk = Desk(path)
    try:
        _, secret = desk.store.wrote(lambda db: make_token(db, Who(LOCAL, desk.store.clock()), name, role))
    finally:
        desk.close()
    return secret
