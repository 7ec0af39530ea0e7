"""Suggestions, the next item, forgetting, tables in and out, people, and figures for who runs the desk."""

from __future__ import annotations

import asyncio
import errno
import hashlib
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

from simlabel.server._changes import lease, lease_first
from simlabel.server._desk import Desk
from simlabel.server._kinds import Number
from simlabel.server._parsing import ImportOptions
from simlabel.server._people import LOCAL, SESSION_SECONDS, new_token, revoke_token
from simlabel.server._problems import DeskError, DiskFull, NotYet, Unknown, Unwritable
from simlabel.server._transfer import FORMATS, exported
from simlabel.server._views import job
from simlabel.server.api import _schemas as wire
from simlabel.server.api._asking import (
    COOKIE,
    Admin,
    Asking,
    Importing,
    Reader,
    Tagging,
    as_json,
    check_local,
    check_site,
)

router = APIRouter(tags=["desk"])
_FORGET_SECONDS = 30.0
_GAUGES = {
    "position": "Entries in the journal",
    "model_position": "Entry up to which the model has learnt",
    "rows": "Items that the model has learnt",
    "erasing": "Items whose traces are being erased",
    "learning": "Whether the model is learning",
    "retuning": "Whether the model's values are being chosen anew",
    "read_only": "Whether the store can only be read",
}
_SENT = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_TABLE = "The file: CSV or TSV, JSON, JSON Lines (these also with gzip), Parquet or xlsx."
_FILE = {"required": True, "description": _TABLE, "content": _SENT}
_KINDS: dict[str, Any] = {kind.partition(";")[0]: {} for kind in FORMATS.values()}


@router.post("/api/suggest", response_model=wire.Suggestions)
async def suggest(asks: Reader, body: wire.SuggestBody) -> Any:
    """Labels for one row or many; nothing of them is stored."""
    found = asks.desk.predictor.suggest(body.rows, body.limit, body.threshold, bounded=True)
    return as_json(vars(await asyncio.wrap_future(found)))


@router.post("/api/queue/next", response_model=wire.Next)
async def next_item(asks: Tagging, body: wire.NextBody) -> Any:
    """Lease the most useful item that nobody is at, for ten minutes."""
    number = await asks.changed(lease_first, asks.desk.follower.insights["order"], body.skip)
    return {"item": None if number is None else await asyncio.to_thread(asks.desk.item, number)}


@router.post("/api/queue/{number}/lease", response_model=wire.Lease)
async def lease_item(asks: Tagging, number: Number) -> Any:
    """Keep others off an item for ten minutes, or for ten more."""
    return {"holder": asks.person.name, "until": await asks.changed(lease, number)}


@router.post("/api/items/{number}/forget", response_model=wire.Forgotten)
def forget_item(asks: Admin, number: Number) -> Any:
    """Erase an item everywhere but in backups that were made before. It cannot be undone."""
    return asks.desk.forget(asks.person, number, _FORGET_SECONDS)


@router.post("/api/imports", response_model=wire.Job, status_code=202, openapi_extra={"requestBody": _FILE})
async def import_table(asks: Importing, request: Request, options: Annotated[ImportOptions, Query()]) -> Any:
    """Import a table in the background; the job says how far it is, and what could not be read."""
    desk, digest = asks.desk, hashlib.sha256()
    if desk.store.read_only:
        raise Unwritable("Nothing was changed: the store lies where this server may only read.")
    place = desk.imports.place()
    try:
        with place.open("wb") as file:
            async for piece in request.stream():
                digest.update(piece)
                await asyncio.to_thread(file.write, piece)
        if not place.stat().st_size:
            raise DeskError("The file is empty.")
        once = asks.once and asks.once.with_body(digest.digest())
        number = await replace(asks, once=once).changed(desk.imports.take, place, options)
    except OSError as error:
        raise _no_room(error) from None
    finally:
        place.unlink(missing_ok=True)  # of one that was taken nothing is left here
    desk.imports.begin(number)
    return await asyncio.to_thread(desk.store.read, job, number)


def _no_room(error: OSError) -> DeskError:
    """Return why a file could not be written, in a sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull("The file was not taken: the disk is full. Free some room, and send it again.")
    return Unwritable(
        f"The file was not taken: it cannot be written to the server's folder ({error.strerror})."
    )


@router.get("/api/export", response_class=StreamingResponse, responses={200: {"content": _KINDS}})
def export(asks: Reader, format: Literal["csv", "jsonl", "xlsx"] = "csv") -> StreamingResponse:
    """All items with their tags. In CSV and xlsx no cell is a formula."""
    pieces = exported(asks.desk.store, format)
    headers = {"content-disposition": f'attachment; filename="items.{format}"'}
    return StreamingResponse(pieces, media_type=FORMATS[format], headers=headers)


@router.get("/api/session", response_model=wire.Session)
def show_session(asks: Reader) -> Any:
    """Who is signed in."""
    return vars(asks.person) | {"needs_token": asks.desk.people.needed}


@router.post("/api/session", response_model=wire.Session)
def open_session(request: Request, response: Response, body: wire.SessionBody) -> Any:
    """Sign in with a token; on a desk without tokens, with none."""
    people, secure = request.app.state.desk.people, request.url.scheme == "https"
    check_site(request)
    needed = people.needed
    if needed and body.token is None:
        raise Unknown("Sign in with a token; who runs the desk makes them.")
    if not needed:
        check_local(request)
    cookie, person = people.open_session(body.token if needed else None)
    response.set_cookie(
        COOKIE, cookie, SESSION_SECONDS, httponly=True, samesite="strict", secure=secure, path="/"
    )
    return vars(person) | {"needs_token": needed}


@router.delete("/api/session", response_model=wire.Done)
def close_session(asks: Reader, request: Request, response: Response) -> Any:
    """Sign out."""
    asks.desk.people.close_session(request.cookies.get(COOKIE, ""))
    response.delete_cookie(COOKIE, path="/")
    return {"seq": None}


@router.post("/api/tokens", response_model=wire.NewToken, status_code=201)
async def make_token(asks: Admin, body: wire.TokenBody) -> Any:
    """Make a token; from the first one on, nobody is let in without. The secret is shown this once."""
    if asks.person.name == LOCAL.name and body.role != "administration":
        raise DeskError("The first token must be for administration, so that somebody can make the others.")
    plain = Asking(asks.desk, asks.person)  # no answer is kept for a second request: it holds the secret
    number, secret = await plain.changed(new_token, body.name, body.role)
    return {"id": number, "token": secret}


@router.delete("/api/tokens/{number}", response_model=wire.Done)
async def end_token(asks: Admin, number: Number) -> Any:
    """End a token and the sessions that were opened with it."""
    return {"seq": await asks.changed(revoke_token, number, asks.desk.people.exposed)}


@router.get("/healthz", response_model=wire.Health)
async def health() -> Any:
    """The process answers."""
    return {"status": "ok", "problems": []}


@router.get("/readyz", response_model=wire.Health)
def ready(request: Request, response: Response) -> Any:
    """Whether the store can be written to, the model follows, and the first one, if any, is learned."""
    desk: Desk = request.app.state.desk
    problems = desk.problems()
    if not problems and desk.learns_first_model():
        problems = ["The first model is being learned."]
        response.headers.update(NotYet.headers)
    response.status_code = 503 if problems else 200
    return {"status": "degraded" if problems else "ok", "problems": problems}


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(asks: Reader, request: Request) -> Response:
    """Figures in Prometheus' format."""
    found, registry = asks.desk.status(), CollectorRegistry()
    items = Gauge("simlabel_items", "Items by status", ["status"], registry=registry)
    for status, n in found["items"].items():
        items.labels(status).set(n)
    for name, words in _GAUGES.items():
        Gauge(f"simlabel_{name}", words, registry=registry).set(int(found[name]))
    figures = generate_latest(registry) + generate_latest(request.app.state.registry)
    return Response(figures, media_type=CONTENT_TYPE_LATEST)
