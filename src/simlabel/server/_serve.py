"""`simlabel serve`: from a folder to an address that answers."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from simlabel.server import _people as people
from simlabel.server._connection import Connection, log_once
from simlabel.server._desk import Desk
from simlabel.server._parsing import ImportOptions
from simlabel.server._problems import DeskError
from simlabel.server._transfer import summary
from simlabel.server._views import job
from simlabel.server.api import make_app

_ENDING = (signal.SIGINT, signal.SIGTERM)
_BACKLOG = 100  # connections that are accepted together, before there is room for them
_MOST_HEAD = 16 << 10  # bytes of a request's head
_TURN = 5e-4  # seconds of Python that a thread has while others wait: an answer waits for a few at most


class QuietServer(uvicorn.Server):
    """Ctrl-C and SIGTERM end it in order, with code 0: uvicorn's own would raise the signal once more."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        asyncio.get_running_loop().set_exception_handler(log_once)
        await super().startup(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals while it runs."""
        before = {number: signal.signal(number, self.handle_exit) for number in _ENDING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(
    path: str | os.PathLike[str],
    tell: Callable[[str], None],
    host: str = "127.0.0.1",
    port: int = 8123,
    accept_above: float | None = None,
    table: Path | None = None,
    options: ImportOptions | None = None,
    log: bool = False,
    report: Callable[[str], None] = lambda _: None,
    behind_proxy: bool = False,
) -> None:
    """Open a desk and answer until Ctrl-C or SIGTERM.

    Parameters
    ----------
    tell : callable
        Is given the address.
    host, port : str, int
        Where it listens; port 0 for any that is free.
    accept_above : float or None
        From which probability on a suggestion becomes a tag by itself; None for never.
    table : path or None
        A table to import at the start.
    options : ImportOptions or None
        How that is read.
    log : bool
        Whether to write a line for each request, without its content.
    report : callable
        Is given a line on what became of the import.
    behind_proxy : bool
        Whether a proxy on this machine passes requests on: its X-Forwarded-For and X-Forwarded-Proto are
        believed, and tokens are needed, because all requests come from this machine.

    Raises
    ------
    DeskError
        Where the folder is in use or cannot be opened, or others than this machine can reach the server
        and there are no tokens.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # read when the model is loaded
        os.environ.setdefault(name, "1")  # for a few rows threads take longer to meet than to work
    sys.setswitchinterval(_TURN)
    desk = Desk(path, accept_above)
    try:
        desk.people.exposed = behind_proxy or host not in people.LOOPBACK
        if desk.people.exposed and not desk.people.any:
            by = "behind a proxy the server" if behind_proxy else f"host {host}"
            raise DeskError(
                f"{by} can be reached by others, and there are no tokens: anybody could "
                f"change everything. Make one first: simlabel serve {path} --new-token NAME:administration."
            )
        listening = _listen(host, port)
        if table is not None:
            _import(desk, table, options or ImportOptions(name=table.name), report)
        if log:
            logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
        config = uvicorn.Config(
            make_app(desk),
            http=Connection,
            ws="none",
            log_level="error",
            access_log=False,
            backlog=_BACKLOG,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=5,
            server_header=False,
            h11_max_incomplete_event_size=_MOST_HEAD,
            proxy_headers=behind_proxy,
            forwarded_allow_ips=["127.0.0.1", "::1"],
        )
        tell(f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/")
        QuietServer(config).run([listening])
    finally:
        desk.close()


def _import(desk: Desk, table: Path, options: ImportOptions, report: Callable[[str], None]) -> None:
    place = desk.imports.place()
    shutil.copyfile(table, place)
    number = desk.change(people.LOCAL, lambda by: desk.imports.take(by, place, options)).result()
    ended = desk.imports.begin(number)

    def told(_: object) -> None:
        found = desk.store.read(job, number)
        if found["state"] != "waiting":  # else the server closes, and the import goes on at the next start
            report(summary(found))

    ended.add_done_callback(told)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # named TCP, asyncio sends at once; else an answer waits 40 ms for the client to acknowledge its head
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # whoever reads the address may ask at once, and waits
    except OSError as error:
        listening.close()
        raise DeskError(
            f"port {port} of {host} cannot be had ({error.strerror}); choose another port."
        ) from None
    return listening


def new_token(path: str | os.PathLike[str], name: str, role: str) -> str:
    """Make a token for a desk that is not running; the secret, which is shown this once."""
    desk = Desk(path)
    try:
        _, secret = desk.change(people.LOCAL, lambda by: people.new_token(by, name, role)).result()
    finally:
        desk.close()
    return str(secret)


def cancel_import(path: str | os.PathLike[str], number: int) -> None:
    """Cancel an import of a desk that is not running."""
    desk = Desk(path)
    try:
        desk.cancel_import(number)
    finally:
        desk.close()
