"""Authentication, limits on the size, time and rate of requests, security headers, metrics and the log."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPMethod, HTTPStatus
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from fastapi import Depends, Header, Request, Response
from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simlabel.server._desk import IdempotentRequest, TaggingServer
from simlabel.server._predicting import asker
from simlabel.server._types import Forbidden, ServerError, TooManyRequests, Unauthenticated
from simlabel.server._users import LOCAL, LOOPBACK, User, is_loopback

_log = logging.getLogger("simlabel.server")

COOKIE = "simlabel_session"
_SAFE = ("GET", "HEAD", "OPTIONS")
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
_Key = Annotated[
    str | None,
    Header(description="A request repeated with the same key within a day is done once.", max_length=200),
]

MAX_BYTES, MAX_IMPORT_BYTES = 8 << 20, 1 << 30
_MAX_OPEN = 64 << 10  # bytes of a request without authentication
_SLOWEST = 20.0  # seconds between two pieces of a request, and for a small body
_SLOWEST_RATE = 16 << 10  # bytes per second that larger bodies must reach
_LONGEST = 60.0  # seconds for an answer
_PER_SECOND, _BURST, _MAX_SENDERS = 300.0, 600.0, 10_000
_UNHURRIED = ("/api/imports", "/api/export")
_READ = ("/", "/healthz", "/readyz", "/api/openapi.json")
OPEN = {
    "GET": _READ,
    "HEAD": _READ,
    "POST": ("/api/session",),
}  # without authentication, with the page's files

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


@dataclass(frozen=True)
class RequestContext:
    """The context of a request: the server's state, the user, and the idempotency key if there is one."""

    desk: TaggingServer
    user: User
    once: IdempotentRequest | None = None

    async def changed(self, make: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Make a change as the user; return its result once it is on disk."""
        work = self.desk.change(self.user, lambda by: make(by, *given, **named), self.once)
        return await asyncio.wrap_future(work)


def json_response(answer: Any) -> Response:
    """Return a response without validation, which takes as long as predicting a row."""
    return Response(json.dumps(answer), media_type="application/json")


async def authenticate(desk: TaggingServer, request: Request) -> User:
    """Return the user who sends a request.

    Raises
    ------
    Unknown
        If the credentials are missing or unknown.
    Forbidden
        If the request comes from another site, or from another machine while there are no tokens.
    """
    check_site(request)
    token, cookie = _token(request), request.cookies.get(COOKIE)
    if token is not None:
        return await asyncio.to_thread(desk.people.by_token, token)
    if cookie is not None:
        user = await asyncio.to_thread(desk.people.by_session, cookie)
        given, expected = request.headers.get("x-csrf-token", ""), user.csrf or ""
        if request.method not in _SAFE and not hmac.compare_digest(given.encode(), expected.encode()):
            raise Forbidden("Changes of a session need the header X-CSRF-Token: see GET /api/session.")
        if user.name == LOCAL.name:
            check_local(request)
        return user
    if desk.people.needed:
        raise _no_credentials()
    check_local(request)
    return LOCAL


def _no_credentials() -> Unauthenticated:
    return Unauthenticated(
        "The request has no credentials: send a token (Authorization: Bearer ...), or sign in."
    )


def current_user(request: Request) -> User:
    """Return the user that the middleware has authenticated."""
    user: User | None = getattr(request.state, "user", None)
    if user is None:
        raise _no_credentials()
    return user


def check_local(request: Request) -> None:
    """Raise `Forbidden` unless a request comes from this machine, by the address of the socket.

    Headers only make it stricter: proxy headers are refused, and the Host header must name this machine, so
    that the domain name of another site cannot lead here (DNS rebinding).
    """
    local = is_loopback(request.client.host if request.client else "")
    local = local and not any(name in request.headers for name in _FORWARDED)
    if not local or _parts(f"//{request.headers.get('host', '')}").hostname not in LOOPBACK:
        raise Forbidden(
            "A server without tokens answers requests from its own machine to localhost only: create a "
            "token to use it from elsewhere."
        )


def check_site(request: Request) -> None:
    """Raise `Forbidden` if the page of another site sends a change."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    other = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    if request.method not in _SAFE and (other or (origin is not None and _parts(origin).netloc != host)):
        raise Forbidden("Changes are accepted from this server's own page and from programs only.")


def _parts(address: str) -> SplitResult:
    """Return the parts of a URL; empty parts if it is invalid."""
    try:
        parts = urlsplit(address)
        parts.hostname, parts.port  # noqa: B018 - they are parsed and validated when they are read
    except ValueError:
        return urlsplit("")
    return parts


def _token(request: Request) -> str | None:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":  # http://anything:TOKEN@host/, for clients without bearer tokens
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            raise Unauthenticated(
                "The header Authorization is not valid base64: send Bearer TOKEN."
            ) from None
    return value.strip() if kind.lower() == "bearer" else None


def _allowed(role: str, streamed: bool = False) -> Callable[..., Awaitable[RequestContext]]:
    """Return the dependency that checks the user's role.

    If the body is `streamed`, the route adds its digest to the idempotency key.
    """

    async def check(
        request: Request, user: Annotated[User, Depends(current_user)], idempotency_key: _Key = None
    ) -> RequestContext:
        if not user.may(role):
            raise Forbidden(f"This needs a token for {role}; {user.name} has one for {user.role}.")
        once = None
        if idempotency_key is not None:
            sent = request.method.encode(), request.url.path.encode(), request.url.query.encode()
            once = IdempotentRequest.of(idempotency_key, *sent, b"" if streamed else await request.body())
        return RequestContext(request.app.state.desk, user, once)

    return check


async def _reading(request: Request, user: Annotated[User, Depends(current_user)]) -> RequestContext:
    return RequestContext(request.app.state.desk, user)


Reader = Annotated[RequestContext, Depends(_reading)]
Tagging = Annotated[RequestContext, Depends(_allowed("tagging"))]
Admin = Annotated[RequestContext, Depends(_allowed("administration"))]
Importing = Annotated[RequestContext, Depends(_allowed("administration", streamed=True))]


class _Refused(ServerError, status=400):
    """The request is not passed on."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class _Gone(ServerError, status=400):
    """The client closed the connection before its request was complete."""


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error response (RFC 9457)."""
    title = HTTPStatus(status).phrase
    body = json.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail})
    return Response(body, status, headers, "application/problem+json")


class RateLimiter:
    """The rate limit of each sender: a token bucket with `_PER_SECOND` requests and bursts of `_BURST`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._swept = clock, 0.0
        self._left: dict[str, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._left)

    def take(self, sender: str) -> None:
        """Count a request; raise `TooManyRequests` if the sender is over the limit."""
        now = self._clock()
        if sender not in self._left and len(self._left) >= _MAX_SENDERS and not self._room(now):
            sender = ""  # further senders share one limit
        left, at = self._left.get(sender, (_BURST, now))
        left = min(_BURST, left + (now - at) * _PER_SECOND)
        self._left[sender] = (left - 1 if left >= 1 else left, now)
        if left < 1:
            raise TooManyRequests("Too many requests: wait a second, and send fewer.")

    def _room(self, now: float) -> bool:
        """Remove senders with full buckets, at most once a second; return whether there is room."""
        if now - self._swept > 1:
            self._swept, since = now, now - _BURST / _PER_SECOND
            self._left = {sender: one for sender, one in self._left.items() if one[1] > since}
        return len(self._left) < _MAX_SENDERS


class AuthMiddleware:
    """The outermost middleware: it authenticates a request before its body is read."""

    def __init__(self, app: ASGIApp, desk: TaggingServer, registry: CollectorRegistry) -> None:
        self.app, self._desk = app, desk
        self._people, self._addresses = RateLimiter(), RateLimiter()
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
            await self._pass_on(scope, receive, answer)
        except ServerError as refused:
            if not status[0] and not isinstance(refused, _Gone):
                headers = {**refused.headers, "connection": "close"}
                await problem(refused.status, str(refused), headers)(scope, receive, answer)
        taken = time.perf_counter() - started
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in HTTPMethod.__members__ else "OTHER"
        self._requests.labels(method, route, status[0]).inc()
        self._seconds.labels(route).observe(taken)
        _log.info("%s %s %d %.0f ms", method, route, status[0], taken * 1000)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            raise _Refused(400, "Send Content-Length or Transfer-Encoding, not both.")
        large = scope["path"] == "/api/imports"
        try:
            user = await self._person(scope)
        except ServerError as refused:
            if not isinstance(refused, TooManyRequests):
                await _drain(_limited(receive, MAX_BYTES))  # clients read the answer after sending the body
            raise
        most = _MAX_OPEN if user is None else MAX_IMPORT_BYTES if large else MAX_BYTES
        body, length = _limited(receive, most), headers.get("content-length", "")
        if length.isdigit() and (len(length) > 15 or int(length) > most):
            await _drain(body)  # raises an error at its end
        given = body if large else await _read_whole(body)
        try:
            async with asyncio.timeout(None if scope["path"] in _UNHURRIED else _LONGEST):
                await self.app(scope, given, send)
        except TimeoutError:
            raise _Refused(
                503, f"The answer took longer than {_LONGEST:.0f} s: send a smaller request."
            ) from None

    async def _person(self, scope: Scope) -> User | None:
        """Return the user who sends a request, or None if it needs no authentication.

        Rate limits apply to users; to addresses if the user is unknown.
        """
        user, method, path = None, scope["method"], scope["path"]
        try:
            if not (
                path in OPEN.get(method, ()) or (method in ("GET", "HEAD") and path.startswith("/static/"))
            ):
                user = await authenticate(self._desk, Request(scope))
        finally:
            if user is None or user.name == LOCAL.name:
                self._addresses.take(network_of((scope.get("client") or ("",))[0]))
            else:
                self._people.take(user.name)
        if user is not None:
            scope.setdefault("state", {})["user"] = user
            asker.set(user.name)
        return user


def network_of(client: str) -> str:
    """Return the address for rate limits; for IPv6 the /64 network, which one client owns as a whole."""
    try:
        address = ip_address(client)
    except ValueError:
        return "?"  # an invalid address from a proxy
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(IPv6Network((int(address), 64), strict=False))
    return str(getattr(address, "ipv4_mapped", None) or address)


def _limited(receive: Receive, most: int) -> Receive:
    """Return the body of a request with limits on its size, on pauses and on its rate."""
    seen, more, started = 0, True, asyncio.get_running_loop().time()

    async def piece() -> Message:
        nonlocal seen, more
        while more:
            now = asyncio.get_running_loop().time()
            try:
                async with asyncio.timeout_at(min(now, started + seen / _SLOWEST_RATE) + _SLOWEST):
                    message = await receive()
            except TimeoutError:
                raise _Refused(408, "The request was sent too slowly: send it again.") from None
            if message["type"] == "http.disconnect":
                raise _Gone("The connection was closed before the request was complete.")
            seen, more = seen + len(message.get("body", b"")), message.get("more_body", False)
            if seen <= most:
                return message
            if not more or seen >= 4 * most:  # read on until then, because clients send before they read
                raise _Refused(413, f"A request may have at most {most:,} bytes: send it in parts.")
        return await receive()  # the body is complete: messages of the server, such as a disconnect

    return piece


async def _drain(body: Receive) -> None:
    """Read a body and discard it."""
    while (await body()).get("more_body", False):
        pass


async def _read_whole(receive: Receive) -> Receive:
    """Read a body and return it as one message, so that slow clients occupy no worker thread."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    given: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def replay() -> Message:
        return given.pop() if given else await receive()

    return replay
