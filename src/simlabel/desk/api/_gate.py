"""What every request passes: limits on size, time and rate, headers, figures, one line of log."""

from __future__ import annotations

import asyncio
import json
import logging
import time

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("simlabel.desk")

MOST_BYTES = 8 << 20
MOST_IMPORT_BYTES = 1 << 30
_SLOWEST = 20.0  # seconds between two pieces of a request
_LONGEST = 60.0  # seconds for an answer
_PER_SECOND, _BURST = 100.0, 300.0
_MOST_CLIENTS = 10_000

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


def problem(status: int, title: str, detail: str) -> bytes:
    """The body of an answer that says what went wrong."""
    return json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail}).encode()


class Buckets:
    """So many requests in a second for each client, and a burst now and then."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, client: str) -> bool:
        """Whether there is one left."""
        now = time.monotonic()
        left, at = self._left.get(client, (_BURST, now))
        left = min(_BURST, left + (now - at) * _PER_SECOND)
        if len(self._left) > _MOST_CLIENTS:
            self._left.clear()
        self._left[client] = (left - 1 if left >= 1 else left, now)
        return left >= 1


class Gate:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self.app, self._buckets = app, Buckets()
        labels = ["method", "route", "status"]
        self._requests = Counter("simlabel_requests", "Requests answered", labels, registry=registry)
        self._seconds = Histogram(
            "simlabel_request_seconds", "Time to an answer", ["route"], registry=registry
        )

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

        await self._passed(scope, receive, answer)
        taken = time.perf_counter() - started
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._requests.labels(method, route, status[0]).inc()
        self._seconds.labels(route).observe(taken)
        log.info("%s %s %d %.0f ms", method, route, status[0], taken * 1000)

    async def _passed(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client") or ("", 0)
        if not self._buckets.take(client[0]):
            await _refuse(
                send, 429, "Too many requests", "Wait a second, and ask less often.", [(b"retry-after", b"1")]
            )
            return
        large = scope["path"] == "/api/imports"
        most, told = MOST_IMPORT_BYTES if large else MOST_BYTES, _length(scope)
        try:
            if told is not None and told > most:
                raise await _too_large(receive, most)
            if not large:
                receive = await _whole(receive, most)
            limit = None if large or scope["path"] == "/api/export" else _LONGEST
            await asyncio.wait_for(self.app(scope, _bounded(receive), send), limit)
        except _Refused as refused:
            await _refuse(send, refused.status, refused.title, refused.detail)
        except TimeoutError:
            await _refuse(send, 503, "It takes too long", "Ask for less at once, or again later.")


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class _Refused(Exception):
    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(title)
        self.status, self.title, self.detail = status, title, detail


async def _next(receive: Receive) -> Message:
    try:
        return await asyncio.wait_for(receive(), _SLOWEST)
    except TimeoutError:
        raise _Refused(408, "Too slow", f"Nothing came for {_SLOWEST:.0f} seconds; send it again.") from None


def _too_many(most: int) -> tuple[str, str]:
    return "Too large", f"At most {most:,} bytes are taken in one request; send fewer rows."


async def _too_large(receive: Receive, most: int) -> _Refused:
    """A refusal, when what is still coming has come, up to a bound: a client that sends reads no answer."""
    seen, more = 0, True
    while more and seen < 4 * most:
        message = await _next(receive)
        seen += len(message.get("body", b""))
        more = message.get("more_body", False)
    return _Refused(413, *_too_many(most))


async def _whole(receive: Receive, most: int) -> Receive:
    """The body, read before anybody works on it: a slow client keeps nobody busy."""
    body, more = bytearray(), True
    while more:
        message = await _next(receive)
        if message["type"] == "http.disconnect":
            break
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            raise await _too_large(receive, most) if more else _Refused(413, *_too_many(most))
    given: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def replay() -> Message:
        return given.pop() if given else await receive()

    return replay


def _bounded(receive: Receive) -> Receive:
    """The same, with a limit on the time between two pieces of the body."""
    ended = [False]

    async def next_message() -> Message:
        message = await (receive() if ended[0] else _next(receive))
        ended[0] = not message.get("more_body", False)
        return message

    return next_message


async def _refuse(
    send: Send, status: int, title: str, detail: str, more: list[tuple[bytes, bytes]] | None = None
) -> None:
    body = problem(status, title, detail)
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"connection", b"close"), *(more or [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _length(scope: Scope) -> int | None:
    given: bytes = dict(scope["headers"]).get(b"content-length", b"")
    return int(given) if given.isdigit() else None
