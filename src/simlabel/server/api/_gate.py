"""What every request passes: limits on size, time and rate, headers, figures, one line of log."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from http import HTTPMethod, HTTPStatus
from ipaddress import IPv6Address, IPv6Network, ip_address

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simlabel.server._desk import Desk
from simlabel.server._people import LOCAL, Person
from simlabel.server._problems import DeskError, TooMany
from simlabel.server._turns import asker
from simlabel.server.api._asking import identified

log = logging.getLogger("simlabel.server")

MOST_BYTES, MOST_IMPORT_BYTES = 8 << 20, 1 << 30
_MOST_OPEN = 64 << 10  # of a request for which nobody has signed in
_SLOWEST = 20.0  # seconds between two pieces of a request, and for a body of a few bytes
_SLOWEST_RATE = 16 << 10  # bytes a second, which larger bodies must reach
_LONGEST = 60.0  # seconds for an answer
_PER_SECOND, _BURST, _MOST_SENDERS = 300.0, 600.0, 10_000
_UNHURRIED = ("/api/imports", "/api/export")
_READ = ("/", "/healthz", "/readyz", "/api/openapi.json")
OPEN = {"GET": _READ, "HEAD": _READ, "POST": ("/api/session",)}  # to everybody; with them the page's files

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
]


class _Refused(DeskError, status=400):
    """A request that is not passed on."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class _Gone(DeskError, status=400):
    """The client has closed the connection before its request was complete."""


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that says what went wrong (RFC 9457)."""
    title = HTTPStatus(status).phrase
    body = json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail})
    return Response(body, status, headers, "application/problem+json")


class Rates:
    """How many requests each sender may make: so many a second, and a burst now and then."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._swept = clock, 0.0
        self._left: dict[str, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._left)

    def take(self, sender: str) -> None:
        """Count a request; refuse it if the sender has none left."""
        now = self._clock()
        if sender not in self._left and len(self._left) >= _MOST_SENDERS and not self._room(now):
            sender = ""  # those who come now share one rate
        left, at = self._left.get(sender, (_BURST, now))
        left = min(_BURST, left + (now - at) * _PER_SECOND)
        self._left[sender] = (left - 1 if left >= 1 else left, now)
        if left < 1:
            raise TooMany("Wait a second, and ask less often.")

    def _room(self, now: float) -> bool:
        """Remove those whose rate is whole again, once a second; whether there is room."""
        if now - self._swept > 1:
            self._swept, since = now, now - _BURST / _PER_SECOND
            self._left = {sender: one for sender, one in self._left.items() if one[1] > since}
        return len(self._left) < _MOST_SENDERS


class Gate:
    """The outermost layer: it finds out who sends a request before it reads a body."""

    def __init__(self, app: ASGIApp, desk: Desk, registry: CollectorRegistry) -> None:
        self.app, self._desk = app, desk
        self._people, self._addresses = Rates(), Rates()
        labels = ["method", "route", "status"]
        self._requests = Counter("simlabel_requests", "Requests answered", labels, registry=registry)
        words = "Time to an answer"
        self._seconds = Histogram("simlabel_request_seconds", words, ["route"], registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), [0]

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        try:
            await self._passed(scope, receive, answer)
        except DeskError as refused:
            if not status[0] and not isinstance(refused, _Gone):
                headers = {**refused.headers, "connection": "close"}
                await problem(refused.status, str(refused), headers)(scope, receive, answer)
        taken = time.perf_counter() - started
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in HTTPMethod.__members__ else "OTHER"
        self._requests.labels(method, route, status[0]).inc()
        self._seconds.labels(route).observe(taken)
        log.info("%s %s %d %.0f ms", method, route, status[0], taken * 1000)

    async def _passed(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            raise _Refused(400, "Send Content-Length or Transfer-Encoding, not both.")
        large = scope["path"] == "/api/imports"
        try:
            person = await self._person(scope)
        except DeskError as refused:
            if not isinstance(refused, TooMany):
                await _drained(_limited(receive, MOST_BYTES))  # a client that sends reads no answer
            raise
        most = _MOST_OPEN if person is None else MOST_IMPORT_BYTES if large else MOST_BYTES
        body, told = _limited(receive, most), headers.get("content-length", "")
        if told.isdigit() and (len(told) > 15 or int(told) > most):
            await _drained(body)  # nothing of it is kept; where all has come, it is refused
        given = body if large else await _whole(body)
        try:
            async with asyncio.timeout(None if scope["path"] in _UNHURRIED else _LONGEST):
                await self.app(scope, given, send)
        except TimeoutError:
            raise _Refused(503, "It takes too long: ask for less at once, or again later.") from None

    async def _person(self, scope: Scope) -> Person | None:
        """Return who sends a request, None where anybody may; the rate is a person's, else an address's."""
        person = None
        try:
            if not _is_open(scope["method"], scope["path"]):
                person = await identified(self._desk, Request(scope))
        finally:
            if person is None or person.name == LOCAL.name:
                self._addresses.take(network_of((scope.get("client") or ("",))[0]))
            else:
                self._people.take(person.name)
        if person is not None:
            scope.setdefault("state", {})["person"] = person
            asker.set(person.name)
        return person


def _is_open(method: str, path: str) -> bool:
    """Return whether a request needs nobody's right: what is not listed does."""
    return path in OPEN.get(method, ()) or (method in ("GET", "HEAD") and path.startswith("/static/"))


def network_of(client: str) -> str:
    """Return the address that a request counts for; of IPv6 the network, which one client has as a whole."""
    try:
        address = ip_address(client)
    except ValueError:
        return "?"  # what a proxy passes on that is no address
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(IPv6Network((int(address), 64), strict=False))
    return str(getattr(address, "ipv4_mapped", None) or address)


def _limited(receive: Receive, most: int) -> Receive:
    """Return a client's body: so many bytes at most, without long breaks, and not too slowly."""
    seen, more, started = 0, True, asyncio.get_running_loop().time()

    async def piece() -> Message:
        nonlocal seen, more
        while more:
            now = asyncio.get_running_loop().time()
            try:
                async with asyncio.timeout_at(min(now, started + seen / _SLOWEST_RATE) + _SLOWEST):
                    message = await receive()
            except TimeoutError:
                raise _Refused(408, "The request came too slowly; send it again.") from None
            if message["type"] == "http.disconnect":
                raise _Gone("The connection was closed before the request was complete.")
            seen, more = seen + len(message.get("body", b"")), message.get("more_body", False)
            if seen <= most:
                return message
            if not more or seen >= 4 * most:  # until then it is let come: a client that sends reads no answer
                raise _Refused(413, f"At most {most:,} bytes are taken in one request; send it in parts.")
        return await receive()  # all has come: whatever the server says

    return piece


async def _drained(body: Receive) -> None:
    """Let a body come, and keep nothing of it."""
    while (await body()).get("more_body", False):
        pass


async def _whole(receive: Receive) -> Receive:
    """Return all that is sent, read before anybody works on it: a slow client keeps nobody busy."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    given: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def replay() -> Message:
        return given.pop() if given else await receive()

    return replay
