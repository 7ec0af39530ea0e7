"""What every request passes: limits on size, time and rate, headers, figures, one line of log."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from http import HTTPMethod, HTTPStatus

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simlabel.desk._problems import DeskError

log = logging.getLogger("simlabel.desk")

MOST_BYTES, MOST_IMPORT_BYTES = 8 << 20, 1 << 30
_SLOWEST = 20.0  # seconds between two pieces of a request
_LONGEST = 60.0  # seconds for an answer
_PER_SECOND, _BURST, _MOST_CLIENTS = 300.0, 600.0, 10_000
_UNHURRIED = ("/api/imports", "/api/export")

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
    """What does not pass."""

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status, self.headers = status, headers


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """An answer that says what went wrong (RFC 9457)."""
    title = HTTPStatus(status).phrase
    body = json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail})
    return Response(body, status, headers, "application/problem+json")


class Gate:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self.app, self._left = app, dict[str, tuple[float, float]]()
        labels = ["method", "route", "status"]
        self._requests = Counter("simlabel_requests", "Requests answered", labels, registry=registry)
        words = "Time to an answer"
        self._seconds = Histogram("simlabel_request_seconds", words, ["route"], registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), [500]

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        try:
            await self._passed(scope, receive, answer)
        except _Refused as refused:
            headers = {"connection": "close", **refused.headers}
            await problem(refused.status, str(refused), headers)(scope, receive, answer)
        taken = time.perf_counter() - started
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in HTTPMethod.__members__ else "OTHER"
        self._requests.labels(method, route, status[0]).inc()
        self._seconds.labels(route).observe(taken)
        log.info("%s %s %d %.0f ms", method, route, status[0], taken * 1000)

    async def _passed(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._take((scope.get("client") or ("", 0))[0])
        large = scope["path"] == "/api/imports"
        most = MOST_IMPORT_BYTES if large else MOST_BYTES
        body, told = _limited(receive, most), dict(scope["headers"]).get(b"content-length", b"")
        if told.isdigit() and int(told) > most:
            while (await body())["type"] == "http.request":
                pass  # nothing of it is kept; where all has come, it is refused
        given = body if large else await _whole(body)
        try:
            async with asyncio.timeout(None if scope["path"] in _UNHURRIED else _LONGEST):
                await self.app(scope, given, send)
        except TimeoutError:
            raise _Refused(503, "It takes too long: ask for less at once, or again later.") from None

    def _take(self, client: str) -> None:
        """So many requests in a second for each client, and a burst now and then."""
        now = time.monotonic()
        left, at = self._left.get(client, (_BURST, now))
        left = min(_BURST, left + (now - at) * _PER_SECOND)
        if len(self._left) > _MOST_CLIENTS:
            self._left.clear()
        self._left[client] = (left - 1 if left >= 1 else left, now)
        if left < 1:
            raise _Refused(429, "Wait a second, and ask less often.", **{"retry-after": "1"})


def _limited(receive: Receive, most: int) -> Receive:
    """What a client sends: so many bytes at most, and not too long between two pieces of it."""
    seen, more = 0, True

    async def piece() -> Message:
        nonlocal seen, more
        while more:
            try:
                async with asyncio.timeout(_SLOWEST):
                    message = await receive()
            except TimeoutError:
                raise _Refused(408, f"Nothing came for {_SLOWEST:.0f} seconds; send it again.") from None
            seen, more = seen + len(message.get("body", b"")), message.get("more_body", False)
            if seen <= most:
                return message
            if not more or seen >= 4 * most:  # until then it is let come: a client that sends reads no answer
                raise _Refused(413, f"At most {most:,} bytes are taken in one request; send it in parts.")
        return await receive()  # all has come: whatever the server says

    return piece


async def _whole(receive: Receive) -> Receive:
    """All that is sent, read before anybody works on it: a slow client keeps nobody busy."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    given: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def replay() -> Message:
        return given.pop() if given else await receive()

    return replay
