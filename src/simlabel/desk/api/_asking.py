"""Who asks: a token, a session of the page, or, on a desk without tokens, whoever sits at this machine."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Awaitable, Callable
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Header, Request

from simlabel.desk._desk import Desk, Once
from simlabel.desk._people import LOCAL, ROLES, Person
from simlabel.desk._problems import NotAllowed, Unknown

COOKIE = "simlabel_session"
_SAFE = ("GET", "HEAD", "OPTIONS")
_LOOPBACK = ("localhost", "127.0.0.1", "::1", "testserver")


async def desk_of(request: Request) -> Desk:
    """The desk that the application is for."""
    desk: Desk = request.app.state.desk
    return desk


def person_of(request: Request) -> Person:
    """Who asks, for anything."""
    desk: Desk = request.app.state.desk
    _check_site(request)
    token = _token(request)
    if token is not None:
        return desk.people.by_token(token)
    cookie = request.cookies.get(COOKIE)
    if cookie is not None:
        person = desk.people.by_session(cookie)
        given = request.headers.get("x-csrf-token", "")
        if request.method not in _SAFE and not hmac.compare_digest(
            given.encode(), (person.csrf or "").encode()
        ):
            raise NotAllowed("A change from the page needs the header X-CSRF-Token; GET /api/session has it.")
        return person
    if desk.people.needed:
        raise Unknown("Send a token (Authorization: Bearer ...), or sign in.")
    check_host(request)
    return Person(LOCAL, ROLES[-1])


def check_host(request: Request) -> None:
    """On a desk without tokens: only names of this machine, so that no other site's name leads here."""
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname
    if host not in _LOOPBACK:
        raise NotAllowed(
            "A desk without tokens answers to localhost alone; make a token to reach it otherwise."
        )


def _check_site(request: Request) -> None:
    """Refuse changes that another site's page sends."""
    if request.method in _SAFE:
        return
    origin, host = request.headers.get("origin"), request.headers.get("host", "")
    other = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    if other or (origin is not None and urlsplit(origin).netloc != host):
        raise NotAllowed(
            "Changes are taken from this desk's own page and from programs, not from other sites."
        )


def _token(request: Request) -> str | None:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if kind.lower() == "basic":  # http://anybody:TOKEN@host/, for clients that know nothing else
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            raise Unknown("The header Authorization cannot be read.") from None
    return None


def allowed(role: str) -> Callable[[Person], Awaitable[Person]]:
    """A person who may do what a role allows."""

    async def check(person: Annotated[Person, Depends(person_of)]) -> Person:
        if not person.may(role):
            raise NotAllowed(f"This needs a token for {role}; {person.name} has one for {person.role}.")
        return person

    return check


async def once_of(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            description="Sent twice within a day, a request with the same key is done once.", max_length=200
        ),
    ] = None,
) -> Once | None:
    """The key by which a request that is sent twice is done once."""
    if idempotency_key is None:
        return None
    return Once.of(idempotency_key, request.method.encode(), request.url.path.encode(), await request.body())


TheDesk = Annotated[Desk, Depends(desk_of)]
Reader = Annotated[Person, Depends(allowed("reading"))]
Tagging = Annotated[Person, Depends(allowed("tagging"))]
Admin = Annotated[Person, Depends(allowed("administration"))]
MaybeOnce = Annotated[Once | None, Depends(once_of)]
