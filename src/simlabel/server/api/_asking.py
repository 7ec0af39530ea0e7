"""Who asks: a token, a session of the page, or, on a desk without tokens, whoever sits at this machine."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from fastapi import Depends, Header, Request, Response

from simlabel.server._connection import is_loopback
from simlabel.server._desk import Desk, Once
from simlabel.server._people import LOCAL, LOOPBACK, Person
from simlabel.server._problems import NotAllowed, Unknown

COOKIE = "simlabel_session"
_SAFE = ("GET", "HEAD", "OPTIONS")
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
_Key = Annotated[
    str | None,
    Header(description="Sent twice within a day, a request with the same key is done once.", max_length=200),
]


@dataclass(frozen=True)
class Asking:
    """A request: which desk it is for, who sends it, and the key by which it is done once if sent twice."""

    desk: Desk
    person: Person
    once: Once | None = None

    async def changed(self, make: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """The answer of a change, when it is on disk."""
        work = self.desk.change(self.person, lambda by: make(by, *given, **named), self.once)
        return await asyncio.wrap_future(work)


def as_json(answer: Any) -> Response:
    """An answer that was made here and need not be checked once more: that takes as long as a row's sums."""
    return Response(json.dumps(answer), media_type="application/json")


async def identified(desk: Desk, request: Request) -> Person:
    """Return who sends a request.

    Raises
    ------
    Unknown
        If the credentials are missing or unknown.
    NotAllowed
        If another site sends the request, or it does not come from this machine and there are no tokens.
    """
    check_site(request)
    token, cookie = _token(request), request.cookies.get(COOKIE)
    if token is not None:
        return await asyncio.to_thread(desk.people.by_token, token)
    if cookie is not None:
        person = await asyncio.to_thread(desk.people.by_session, cookie)
        given, wanted = request.headers.get("x-csrf-token", ""), person.csrf or ""
        if request.method not in _SAFE and not hmac.compare_digest(given.encode(), wanted.encode()):
            raise NotAllowed("A change from the page needs the header X-CSRF-Token; GET /api/session has it.")
        if person.name == LOCAL.name:
            check_local(request)
        return person
    if desk.people.needed:
        raise Unknown("Send a token (Authorization: Bearer ...), or sign in.")
    check_local(request)
    return LOCAL


def person_of(request: Request) -> Person:
    """Return who sends a request, as the gate has found out; nobody passes by another way."""
    person: Person | None = getattr(request.state, "person", None)
    if person is None:
        raise Unknown("Send a token (Authorization: Bearer ...), or sign in.")
    return person


def check_local(request: Request) -> None:
    """Refuse what does not come from this machine, by the address of the socket.

    Headers can only make it stricter: those of a proxy are refused, and the name in Host must be one of
    this machine, so that no other site's name leads here.
    """
    near = is_loopback(request.client.host if request.client else "")
    near = near and not any(name in request.headers for name in _FORWARDED)
    if not near or _parts(f"//{request.headers.get('host', '')}").hostname not in LOOPBACK:
        raise NotAllowed(
            "A tagging server without tokens answers requests from its own machine to localhost only; "
            "make a token to use it from elsewhere."
        )


def check_site(request: Request) -> None:
    """Refuse changes that another site's page sends."""
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    other = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    if request.method not in _SAFE and (other or (origin is not None and _parts(origin).netloc != host)):
        raise NotAllowed(
            "Changes are taken from this desk's own page and from programs, not from other sites."
        )


def _parts(address: str) -> SplitResult:
    """Return the parts of an address; none where it is not one."""
    try:
        parts = urlsplit(address)
        parts.hostname, parts.port  # noqa: B018 - they are parsed, and refused, when they are read
    except ValueError:
        return urlsplit("")
    return parts


def _token(request: Request) -> str | None:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":  # http://anybody:TOKEN@host/, for clients that know nothing else
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            raise Unknown("The header Authorization cannot be read.") from None
    return value.strip() if kind.lower() == "bearer" else None


def _allowed(role: str, streamed: bool = False) -> Callable[..., Awaitable[Asking]]:
    """Return the check that a person may do what a role allows.

    Where the body is `streamed`, the route adds it to what distinguishes one request from another.
    """

    async def check(
        request: Request, person: Annotated[Person, Depends(person_of)], idempotency_key: _Key = None
    ) -> Asking:
        if not person.may(role):
            raise NotAllowed(f"This needs a token for {role}; {person.name} has one for {person.role}.")
        once = None
        if idempotency_key is not None:
            sent = request.method.encode(), request.url.path.encode(), request.url.query.encode()
            once = Once.of(idempotency_key, *sent, b"" if streamed else await request.body())
        return Asking(request.app.state.desk, person, once)

    return check


async def _reading(request: Request, person: Annotated[Person, Depends(person_of)]) -> Asking:
    return Asking(request.app.state.desk, person)


Reader = Annotated[Asking, Depends(_reading)]
Tagging = Annotated[Asking, Depends(_allowed("tagging"))]
Admin = Annotated[Asking, Depends(_allowed("administration"))]
Importing = Annotated[Asking, Depends(_allowed("administration", streamed=True))]
