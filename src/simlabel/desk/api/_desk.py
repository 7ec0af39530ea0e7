"""What the model says, tables in and out, people, and figures for those who run the desk."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from simlabel.desk import _views as views
from simlabel.desk._people import LOCAL, SESSION_SECONDS, new_token
from simlabel.desk._problems import DeskError, NotFound, Unknown, Unwritable
from simlabel.desk._transfer import FORMATS, ImportOptions, exported
from simlabel.desk.api import _schemas as wire
from simlabel.desk.api._asking import COOKIE, Admin, Asking, Reader, as_json, check_host, check_site

router = APIRouter(tags=["desk"])
_SENT = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_FILE = {
    "required": True,
    "description": "The file: CSV, JSON, JSON Lines, Parquet or xlsx.",
    "content": _SENT,
}
_KINDS: dict[str, Any] = {kind.partition(";")[0]: {} for kind in FORMATS.values()}


@router.post("/api/suggest", response_model=wire.Suggestions)
async def suggest(asks: Reader, body: wire.SuggestBody) -> Any:
    """Labels for one row or many; nothing of them is stored."""
    found = asks.desk.predictor.suggest(body.rows, body.limit, body.threshold)
    return as_json(vars(await asyncio.wrap_future(found)))


@router.get("/api/items/{number}/explain", response_model=wire.Why)
def explain(
    asks: Reader, number: wire.InPath, label: Annotated[str, Query(min_length=1, max_length=200)]
) -> Any:
    """Labelled items and words that speak for a label of an item, or against it."""
    return asks.desk.explain(number, label)


@router.get("/api/suspicious", response_model=wire.Doubts)
def suspicious(asks: Reader, limit: wire.Limit = 50) -> Any:
    """Tags that the other items contradict: probably wrong, or probably missing."""
    position = asks.desk.follower.insights.get("quality_position")
    return {"position": position, "suspicious": asks.desk.suspicious(limit)}


@router.get("/api/quality", response_model=wire.Quality)
def quality(asks: Reader) -> Any:
    """Leave-one-out figures, calibration, and what changed."""
    with asks.desk.store.reading() as db:
        over_time, week = views.quality_over_time(db, 200), views.week(db, asks.desk.store.clock())
    return {"now": asks.desk.follower.insights["quality"], "over_time": over_time, "week": week}


@router.post("/api/retune", response_model=wire.Retune, status_code=202)
def retune(asks: Admin) -> Any:
    """Choose all values of the model anew; the old one answers until that is done."""
    asks.desk.predictor.current()
    return {"started": asks.desk.follower.retune()}


@router.get("/api/status", response_model=wire.State)
def status(asks: Reader) -> Any:
    """How the desk is, and what it is doing."""
    return asks.desk.status()


@router.post(
    "/api/imports",
    response_model=wire.Job,
    status_code=202,
    openapi_extra={"requestBody": _FILE},
)
async def import_table(asks: Admin, request: Request, options: Annotated[ImportOptions, Query()]) -> Any:
    """Import a table in the background; the job says how far it is, and what could not be read."""
    if asks.desk.store.read_only:
        raise Unwritable("Nothing was changed: the store lies where this server may only read.")
    place = asks.desk.imports.place()
    try:
        with place.open("wb") as file:
            async for piece in request.stream():
                await asyncio.to_thread(file.write, piece)
        if not place.stat().st_size:
            raise DeskError("The file is empty.")
        number = await asyncio.to_thread(asks.desk.imports.add, asks.person.name, place, options)
    except BaseException:
        place.unlink(missing_ok=True)
        raise
    return await asyncio.to_thread(show_job, asks, number)


@router.get("/api/jobs", response_model=wire.Jobs)
def list_jobs(asks: Reader) -> Any:
    """Imports, the last first."""
    return {"jobs": asks.desk.store.read(views.job_views)}


@router.get("/api/jobs/{number}", response_model=wire.Job)
def show_job(asks: Reader, number: wire.InPath) -> Any:
    """How far an import is."""
    for job in asks.desk.store.read(views.job_views, number):
        return job
    raise NotFound(f"There is no job {number}.")


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
        check_host(request)
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


@router.get("/api/tokens", response_model=wire.Tokens)
def list_tokens(asks: Admin) -> Any:
    """Tokens without their secrets."""
    rows = asks.desk.store.rows("SELECT id, name, role, revoked FROM tokens")
    return {"tokens": [dict(row) for row in rows]}


@router.post("/api/tokens", response_model=wire.NewToken, status_code=201)
async def make_token(asks: Admin, body: wire.TokenBody) -> Any:
    """Make a token; from the first one on, nobody is let in without. The secret is shown this once."""
    if asks.person.name == LOCAL.name and body.role != "administration":
        raise DeskError("The first token must be for administration, so that somebody can make the others.")
    plain = Asking(asks.desk, asks.person)  # no answer is kept for a second request: it holds the secret
    number, secret = await plain.changed(new_token, body.name, body.role)
    return {"id": number, "token": secret}


@router.get("/healthz", response_model=wire.Health)
async def health() -> Any:
    """The process answers."""
    return {"status": "ok", "problems": []}


@router.get("/readyz", response_model=wire.Health)
def ready(request: Request, response: Response) -> Any:
    """Whether the store is there and can be written to, and what else is wrong."""
    desk, problems = request.app.state.desk, []
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


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(asks: Reader, request: Request) -> Response:
    """Figures in Prometheus' format."""
    gauges, found = request.app.state.gauges, asks.desk.status()
    for name, n in found.pop("items").items():
        gauges["items"].labels(name).set(n)
    for name in gauges.keys() & found.keys():
        gauges[name].set(int(found[name]))
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)
