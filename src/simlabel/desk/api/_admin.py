"""Sessions and tokens; health, readiness and figures for those who run the desk."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from simlabel.desk._people import LOCAL, new_token, revoke_token
from simlabel.desk._problems import DeskError, Unknown
from simlabel.desk.api import _schemas as wire
from simlabel.desk.api._asking import (
    COOKIE,
    Admin,
    MaybeOnce,
    Reader,
    TheDesk,
    _check_site,
    check_host,
    person_of,
)
from simlabel.desk.api._items import ItemNumber, _seq

router = APIRouter()


@router.get("/api/session", response_model=wire.SessionSchema, tags=["people"])
def show_session(desk: TheDesk, request: Request) -> Any:
    """Who is signed in."""
    person = person_of(request)
    return {"name": person.name, "role": person.role, "csrf": person.csrf, "needs_token": desk.people.needed}


@router.post("/api/session", response_model=wire.SessionSchema, tags=["people"])
def open_session(desk: TheDesk, request: Request, response: Response, body: wire.SessionBody) -> Any:
    """Sign in with a token; on a desk without tokens, with none."""
    _check_site(request)
    needed = desk.people.needed
    if needed and body.token is None:
        raise Unknown("Sign in with a token; who runs the desk makes them.")
    if not needed:
        check_host(request)
    cookie, person = desk.people.open_session(body.token if needed else None)
    secure = request.url.scheme == "https"
    response.set_cookie(
        COOKIE, cookie, httponly=True, samesite="strict", secure=secure, path="/", max_age=12 * 3600
    )
    return {"name": person.name, "role": person.role, "csrf": person.csrf, "needs_token": needed}


@router.delete("/api/session", response_model=wire.DoneSchema, tags=["people"])
def close_session(desk: TheDesk, person: Reader, request: Request, response: Response) -> Any:
    """Sign out."""
    cookie = request.cookies.get(COOKIE)
    if cookie is not None:
        desk.people.close_session(cookie)
    response.delete_cookie(COOKIE, path="/")
    return {"seq": None}


@router.get("/api/tokens", response_model=wire.TokensSchema, tags=["people"])
def list_tokens(desk: TheDesk, person: Admin) -> Any:
    """Tokens without their secrets."""
    return {"tokens": [dict(row) for row in desk.store.rows("SELECT id, name, role, revoked FROM tokens")]}


@router.post("/api/tokens", response_model=wire.NewTokenSchema, status_code=201, tags=["people"])
async def make_token(desk: TheDesk, person: Admin, body: wire.TokenBody) -> Any:
    """Make a token; from the first one on, nobody is let in without. The secret is shown this once."""
    if person.name == LOCAL and body.role != "administration":
        raise DeskError("The first token must be for administration, so that somebody can make the others.")

    def make(db: Any, who: Any) -> tuple[int, str]:
        return new_token(db, who, body.name, body.role)

    number, secret = await asyncio.wrap_future(desk.change(person, make))
    return {"id": number, "token": secret}


@router.delete("/api/tokens/{number}", response_model=wire.DoneSchema, tags=["people"])
async def end_token(desk: TheDesk, person: Admin, number: ItemNumber, once: MaybeOnce) -> Any:
    """Revoke a token; its sessions end with it."""
    return await _seq(desk, person, lambda db, who: revoke_token(db, who, number), once)


@router.get("/healthz", response_model=wire.HealthSchema, tags=["running"])
def health() -> Any:
    """The process answers."""
    return {"status": "ok", "problems": []}


@router.get("/readyz", response_model=wire.HealthSchema, tags=["running"])
def ready(desk: TheDesk, response: Response) -> Any:
    """Whether the store is there and can be written to, and what else is wrong."""
    problems = []
    try:
        desk.store.rows("SELECT 1 FROM journal LIMIT 1")
    except DeskError as error:
        problems.append(str(error))
    if desk.store.read_only:
        problems.append("The store can only be read.")
    if desk.store.clock.behind > 60:
        problems.append(f"The machine's clock is {desk.store.clock.behind:.0f} s behind the journal.")
    if desk.follower.state["problem"]:
        problems.append("The model could not follow; GET /api/status says why.")
    response.status_code = 503 if problems else 200
    return {"status": "degraded" if problems else "ok", "problems": problems}


@router.get("/metrics", response_class=PlainTextResponse, tags=["running"])
def metrics(desk: TheDesk, request: Request, person: Reader) -> Response:
    """Figures in Prometheus' format."""
    gauges, status = request.app.state.gauges, desk.status()
    for name in ("position", "model_position", "rows", "erasing"):
        gauges[name].set(status[name])
    for name, n in status["items"].items():
        gauges["items"].labels(name).set(n)
    for name in ("learning", "retuning", "read_only"):
        gauges[name].set(int(status[name]))
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)
