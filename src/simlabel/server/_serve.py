"""Serve a folder over HTTP: connections, the application, and the functions behind `simlabel serve`."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from prometheus_client import CollectorRegistry
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from simlabel import __version__
from simlabel.server import _annif, _routes, _schemas
from simlabel.server import _users as people
from simlabel.server._desk import TaggingServer
from simlabel.server._middleware import AuthMiddleware, problem
from simlabel.server._parsing import ImportOptions
from simlabel.server._transfer import summary
from simlabel.server._types import ServerError
from simlabel.server._views import job

if sys.platform != "win32":
    import resource

_IDLE_SECONDS = 30  # of a connection between two requests
_HEAD_SECONDS = 10.0  # for a request head, from its first byte, or from the start of the connection
_WRITE_SECONDS = 20.0  # for which a client may leave a response unread
_MAX, _MAX_EACH = 1000, 100  # connections at once, in total and of one address
_LOG_SECONDS = 60.0  # between two lines about the same error
_ENDING = (signal.SIGINT, signal.SIGTERM)
_BACKLOG = 100  # connections that wait to be accepted
_MAX_HEAD = 16 << 10  # bytes of a request head
_TURN = 5e-4  # seconds between switches of Python threads; short, so that responses do not wait for training

_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)
_PAGE = Path(__file__).parent / "page"
_PROBLEM = {"application/problem+json": {"schema": _schemas.ProblemDetails.model_json_schema()}}
_DETAILS = {404: "There is no resource at this address.", 405: "This address does not support this method."}

_logged: dict[str, float] = {}  # the last time that an error was logged, by kind
_log = logging.getLogger("simlabel.server")


def max_connections() -> int:
    """Return the maximum number of connections: half of the file descriptors, at most 1000."""
    if sys.platform == "win32":
        return _MAX
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MAX if descriptors == resource.RLIM_INFINITY else max(8, min(_MAX, descriptors // 2))


class Connection(H11Protocol):
    """An HTTP connection with timeouts, which is closed in favor of new ones while it waits for its client.

    The connections of uvicorn wait forever for the rest of a request head, and for clients that do not read.
    If there are too many connections, of one address or in total, the one that has waited for its client for
    the longest time is closed; connections with a complete request are not.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, and close another one if there are too many."""
        super().connection_made(transport)
        self._timers = dict[str, asyncio.TimerHandle]()
        self.heard = self.loop.time()
        self._start_timer("head", _HEAD_SECONDS)
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        for what in ("head", "write"):
            self._stop_timer(what)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive data; the timeout of a request head is not extended by further bytes."""
        self.heard = self.loop.time()
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer("head")
        elif "head" not in self._timers:
            self._start_timer("head", _HEAD_SECONDS)

    def pause_writing(self) -> None:
        """Start the timeout for a client that does not read."""
        super().pause_writing()
        self._start_timer("write", _WRITE_SECONDS)

    def resume_writing(self) -> None:
        """Stop the timeout: the client reads."""
        self._stop_timer("write")
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse data that is not HTTP; a complete request that came before it is still answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            if not self.cycle.more_body:
                self.cycle.keep_alive = False
                return
            self.cycle.disconnected = True  # what the application still sends is dropped
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _start_timer(self, what: str, seconds: float) -> None:
        self._stop_timer(what)
        self._timers[what] = self.loop.call_later(seconds, self.transport.abort)

    def _stop_timer(self, what: str) -> None:
        if (timer := self._timers.pop(what, None)) is not None:
            timer.cancel()

    def _make_room(self) -> None:
        """Close the connection that has waited longest, of this address or of all, if there are too many."""
        others = [one for one in self.connections if isinstance(one, Connection) and one is not self]
        same = [one for one in others if one.address == self.address]
        proxied = self.config.proxy_headers and people.is_loopback(self.address)  # carries all clients
        if len(same) >= _MAX_EACH and not proxied:
            self._close_oldest(same)
        elif len(others) >= max_connections():
            self._close_oldest(others)

    def _close_oldest(self, among: list[Connection]) -> None:
        oldest = min((one for one in among if one.waits), key=lambda one: one.heard, default=None)
        if oldest is None:
            self.transport.write(_BUSY)
            self.transport.close()
        else:
            self.connections.discard(oldest)  # now: `connection_lost` runs in the next turn of the loop
            oldest.transport.abort()

    @property
    def address(self) -> str:
        """The client's address, by the socket."""
        return self.client[0] if self.client else ""

    @property
    def waits(self) -> bool:
        """Whether the connection waits for its client: for a request, or for the rest of one."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body


def log_once(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log each kind of error of the event loop in one line, at most once a minute."""
    error = context.get("exception")
    kind = f"{context['message']} ({type(error).__name__})"
    now = time.monotonic()
    if now - _logged.get(kind, -_LOG_SECONDS) >= _LOG_SECONDS:
        _logged[kind] = now
        _log.error("%s; further errors of this kind are not logged for a minute", kind)


def make_app(desk: TaggingServer) -> ASGIApp:
    """Return the ASGI application for an open `TaggingServer`, which it starts and closes."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        desk.start()
        yield
        desk.close()

    app = FastAPI(
        title="simlabel serve",
        version=__version__,
        summary="A tagging server: items, tags, suggestions and explanations",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
        responses={"default": {"description": "What is wrong, and what to do", "content": _PROBLEM}},
    )
    app.state.desk = desk
    app.state.registry = CollectorRegistry()
    for router in (_routes.router, _annif.annif_router, _routes.item_router):  # in the order of matching
        app.include_router(router)
    for kind in (ServerError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _error_response)
    app.get("/", include_in_schema=False)(lambda: FileResponse(_PAGE / "index.html"))
    app.mount("/static", StaticFiles(directory=_PAGE), name="static")
    return AuthMiddleware(app, desk, app.state.registry)


def _error_response(request: Request, error: Any) -> Response:
    """Return the response to an error; it does not quote the request."""
    if isinstance(error, ServerError):
        return problem(error.status, str(error), error.headers)
    if isinstance(error, HTTPException):
        detail = _DETAILS.get(error.status_code, str(error.detail))
        return problem(error.status_code, detail, dict(error.headers or {}))
    if isinstance(error, RequestValidationError):
        messages = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5]]
        return problem(422, "; ".join(messages) + ". See /api/openapi.json.")
    _log.error("%s in %s", type(error).__name__, getattr(request.scope.get("route"), "path", "?"))
    return problem(500, f"Internal error of the server; nothing was changed ({type(error).__name__}).")


class QuietServer(uvicorn.Server):
    """A server that ends with code 0 on Ctrl-C and SIGTERM; uvicorn's own would raise the signal again."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start answering."""
        asyncio.get_running_loop().set_exception_handler(log_once)
        await super().startup(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle the signals while the server runs."""
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
    """Run the tagging server on a folder until Ctrl-C or SIGTERM.

    Parameters
    ----------
    tell : callable
        Called with the address of the server.
    host, port : str, int
        The address to listen on; port 0 selects a free port.
    accept_above : float or None
        Probability from which a suggestion becomes a tag automatically; None for never.
    table : path or None
        A table to import at the start.
    options : ImportOptions or None
        The options for reading the table.
    log : bool
        Whether to log a line for each request, without its content.
    report : callable
        Called with a line about the result of the import.
    behind_proxy : bool
        Whether a proxy on this machine forwards requests. If so, X-Forwarded-For and X-Forwarded-Proto are
        trusted, and tokens are needed, because all requests come from this machine.

    Raises
    ------
    ServerError
        If the folder is in use or cannot be opened, or other machines can reach the server and there are no
        tokens.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # read when the model is loaded
        os.environ.setdefault(name, "1")  # threads do not pay for a few rows
    sys.setswitchinterval(_TURN)
    with closing(TaggingServer(path, accept_above)) as desk:
        desk.people.exposed = behind_proxy or host not in people.LOOPBACK
        if desk.people.exposed and not desk.people.any:
            server = "behind a proxy the server" if behind_proxy else f"host {host}"
            raise ServerError(
                f"{server} can be reached from other machines, and there are no tokens: anybody could "
                f"change everything. Create one first: simlabel serve {path} --new-token NAME:administration."
            )
        listening = listen(host, port)
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
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=5,
            server_header=False,
            h11_max_incomplete_event_size=_MAX_HEAD,
            proxy_headers=behind_proxy,
            forwarded_allow_ips=["127.0.0.1", "::1"],
        )
        tell(f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/")
        QuietServer(config).run([listening])


def _import(desk: TaggingServer, table: Path, options: ImportOptions, report: Callable[[str], None]) -> None:
    place = desk.imports.place()
    shutil.copyfile(table, place)
    number = desk.change(people.LOCAL, lambda by: desk.imports.take(by, place, options)).result()

    def report_result(_: object) -> None:
        found = desk.store.read(job, number)
        if (
            found["state"] != "waiting"
        ):  # otherwise the server is closing; the next start continues the import
            report(summary(found))

    desk.imports.begin(number).add_done_callback(report_result)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # with IPPROTO_TCP asyncio sets TCP_NODELAY; otherwise a response waits 40 ms for an acknowledgment
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # before the address is announced, so that clients can connect at once
    except OSError as error:
        listening.close()
        raise ServerError(
            f"port {port} of {host} cannot be used ({error.strerror}): choose another port."
        ) from None
    return listening


def new_token(path: str | os.PathLike[str], name: str, role: str) -> str:
    """Create a token in a folder that no server has open; return its secret."""
    with closing(TaggingServer(path)) as desk:
        _, secret = desk.change(people.LOCAL, lambda by: people.add_token(by, name, role)).result()
    return str(secret)


def cancel_import(path: str | os.PathLike[str], number: int) -> None:
    """Cancel an import in a folder that no server has open."""
    with closing(TaggingServer(path)) as desk:
        desk.cancel_import(number)
