"""The routes of the JSON API, most of which are derived from the signatures of functions."""

from __future__ import annotations

import asyncio
import errno
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Literal, get_type_hints

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from pydantic import create_model

from simlabel.server import _changes as changes
from simlabel.server import _schemas as wire
from simlabel.server import _views as views
from simlabel.server._desk import TaggingServer
from simlabel.server._journal import undo
from simlabel.server._middleware import (
    COOKIE,
    Admin,
    Importing,
    Reader,
    RequestContext,
    Tagging,
    check_local,
    check_site,
    json_response,
)
from simlabel.server._parsing import ImportOptions
from simlabel.server._transfer import MEDIA_TYPES, export_items
from simlabel.server._types import DiskFull, NotReady, Number, ReadOnlyError, ServerError, Unauthenticated
from simlabel.server._users import LOCAL, SESSION_SECONDS, add_token, revoke_token

router = APIRouter(tags=["desk"])
item_router = APIRouter(prefix="/api", tags=["items"])
_FORGET_SECONDS = 30.0
_GAUGES = {
    "position": "Entries in the journal",
    "model_position": "Entry up to which the model is trained",
    "rows": "Training rows of the model",
    "erasing": "Items whose traces are being erased",
    "learning": "Whether the model is being updated",
    "retuning": "Whether the parameters of the model are being selected again",
    "read_only": "Whether the store is read-only",
}
_BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_TABLE = "The file: CSV or TSV, JSON, JSON Lines (these also with gzip), Parquet or xlsx."
_FILE = {"required": True, "description": _TABLE, "content": _BINARY}
_EXPORT_CONTENT: dict[str, Any] = {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}


@router.post("/api/suggest", response_model=wire.Suggestions)
async def suggest(context: Reader, body: wire.SuggestBody) -> Any:
    """Suggest labels for rows, which are not stored."""
    found = context.desk.predictor.suggest(body.rows, body.limit, body.threshold, bounded=True)
    return json_response(vars(await asyncio.wrap_future(found)))


@router.post("/api/queue/next", response_model=wire.Next)
async def next_item(context: Tagging, body: wire.NextBody) -> Any:
    """Lease the most useful free item for ten minutes."""
    number = await context.changed(changes.lease_first, context.desk.updater.insights["order"], body.skip)
    return {"item": None if number is None else await asyncio.to_thread(context.desk.item, number)}


@router.post("/api/queue/{number}/lease", response_model=wire.Lease)
async def lease_item(context: Tagging, number: Number) -> Any:
    """Lease an item for ten minutes, or extend the lease."""
    return {"holder": context.user.name, "until": await context.changed(changes.lease, number)}


@router.post("/api/items/{number}/forget", response_model=wire.Forgotten)
def forget_item_everywhere(context: Admin, number: Number) -> Any:
    """Erase an item everywhere except in existing backups. This cannot be undone."""
    return context.desk.forget(context.user, number, _FORGET_SECONDS)


@router.post(
    "/api/imports", response_model=wire.ImportJob, status_code=202, openapi_extra={"requestBody": _FILE}
)
async def import_table(
    context: Importing, request: Request, options: Annotated[ImportOptions, Query()]
) -> Any:
    """Import a table in the background; the job shows the progress and the rows that could not be read."""
    desk, digest = context.desk, hashlib.sha256()
    if desk.store.read_only:
        raise ReadOnlyError("Nothing was changed: the store's folder is read-only for this server.")
    place = desk.imports.place()
    try:
        with place.open("wb") as file:
            async for piece in request.stream():
                digest.update(piece)
                await asyncio.to_thread(file.write, piece)
        if not place.stat().st_size:
            raise ServerError("The file is empty.")
        once = context.once and context.once.with_body(digest.digest())
        number = await replace(context, once=once).changed(desk.imports.take, place, options)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                "The file was not stored, because the disk is full. Free some room and send it again."
            ) from None
        raise ReadOnlyError(
            f"The file was not stored: the server's folder cannot be written to ({error.strerror})."
        ) from None
    finally:
        place.unlink(missing_ok=True)  # a file that was accepted was moved away
    desk.imports.begin(number)
    return await asyncio.to_thread(desk.store.read, views.job, number)


@router.get("/api/export", response_class=StreamingResponse, responses={200: {"content": _EXPORT_CONTENT}})
def export(context: Reader, format: Literal["csv", "jsonl", "xlsx"] = "csv") -> StreamingResponse:
    """Export all items with their tags. In CSV and xlsx no cell is a formula."""
    pieces = export_items(context.desk.store, format)
    headers = {"content-disposition": f'attachment; filename="items.{format}"'}
    return StreamingResponse(pieces, media_type=MEDIA_TYPES[format], headers=headers)


@router.get("/api/session", response_model=wire.Session)
def show_session(context: Reader) -> Any:
    """Return the signed-in user."""
    return vars(context.user) | {"needs_token": context.desk.people.needed}


@router.post("/api/session", response_model=wire.Session)
def open_session(request: Request, response: Response, body: wire.SessionBody) -> Any:
    """Sign in with a token; a server without tokens needs none."""
    people, secure = request.app.state.desk.people, request.url.scheme == "https"
    check_site(request)
    needed = people.needed
    if needed and body.token is None:
        raise Unauthenticated("Sign in with a token, which the administrator of the server creates.")
    if not needed:
        check_local(request)
    cookie, user = people.open_session(body.token if needed else None)
    response.set_cookie(
        COOKIE, cookie, SESSION_SECONDS, httponly=True, samesite="strict", secure=secure, path="/"
    )
    return vars(user) | {"needs_token": needed}


@router.delete("/api/session", response_model=wire.Done)
def close_session(context: Reader, request: Request, response: Response) -> Any:
    """Sign out."""
    context.desk.people.close_session(request.cookies.get(COOKIE, ""))
    response.delete_cookie(COOKIE, path="/")
    return {"seq": None}


@router.post("/api/tokens", response_model=wire.NewToken, status_code=201)
async def make_token(context: Admin, body: wire.TokenBody) -> Any:
    """Create a token; once one exists, every request needs one. The secret is shown only once."""
    if context.user.name == LOCAL.name and body.role != "administration":
        raise ServerError("The first token must be for administration, because others are created with it.")
    context = RequestContext(
        context.desk, context.user
    )  # without idempotency key: the answer contains the secret
    number, secret = await context.changed(add_token, body.name, body.role)
    return {"id": number, "token": secret}


@router.delete("/api/tokens/{number}", response_model=wire.Done)
async def end_token(context: Admin, number: Number) -> Any:
    """Revoke a token and end the sessions that were opened with it."""
    return {"seq": await context.changed(revoke_token, number, context.desk.people.exposed)}


@router.get("/healthz", response_model=wire.Health)
async def health() -> Any:
    """Return whether the process answers."""
    return {"status": "ok", "problems": []}


@router.get("/readyz", response_model=wire.Health)
def ready(request: Request, response: Response) -> Any:
    """Return whether the store is writable, the model is up to date, and the first model is trained."""
    desk: TaggingServer = request.app.state.desk
    problems = desk.problems()
    if not problems and desk.learns_first_model():
        problems = ["The first model is being trained."]
        response.headers.update(NotReady.headers)
    response.status_code = 503 if problems else 200
    return {"status": "degraded" if problems else "ok", "problems": problems}


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(context: Reader, request: Request) -> Response:
    """Return metrics in the format of Prometheus."""
    status, registry = context.desk.status(), CollectorRegistry()
    items = Gauge("simlabel_items", "Items by status", ["status"], registry=registry)
    for name, n in status["items"].items():
        items.labels(name).set(n)
    for name, description in _GAUGES.items():
        Gauge(f"simlabel_{name}", description, registry=registry).set(int(status[name]))
    text = generate_latest(registry) + generate_latest(request.app.state.registry)
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def _route(
    call: Callable[..., Awaitable[Any]],
    route: str,
    who: Any,
    function: Callable[..., Any],
    /,
    answer: Any = wire.Done,
    description: str = "",
    code: int = 200,
    **known: Any,
) -> None:
    """Add a route that calls a function.

    The parameters of the function, except for the first, are parts of the request: of its path, of the query
    (GET) or of the body. `known` are parameters that the route sets itself. If the response model has one
    field, it is the result of the function. The description in the OpenAPI document is by default the first
    line of the function's docstring.
    """
    method, path = route.split()
    types = get_type_hints(function, include_extras=True)
    _, *parameters = signature(function).parameters.values()
    sent = [one.replace(annotation=types[one.name]) for one in parameters if one.name not in known]
    shown = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=who)]
    if "{number}" in path:
        shown.append(Parameter("number", Parameter.KEYWORD_ONLY, annotation=Number))
        sent = [one for one in sent if one.name != "number"]
    if method == "GET":
        shown += [one.replace(kind=Parameter.KEYWORD_ONLY) for one in sent]
    elif sent:
        shown.append(Parameter("body", Parameter.KEYWORD_ONLY, annotation=_body(function.__name__, sent)))
    field = next(iter(answer.model_fields)) if len(answer.model_fields) == 1 else None

    async def endpoint(context: RequestContext, body: Any = (), **given: Any) -> Any:
        found = await call(context, function, **given, **dict(body), **known)
        return found if field is None else {field: found}

    endpoint.__signature__ = Signature(shown)  # type: ignore[attr-defined]
    item_router.add_api_route(
        path,
        endpoint,
        methods=[method],
        name=function.__name__,
        response_model=answer,
        status_code=code,
        description=description or (function.__doc__ or "").partition("\n")[0],
    )


def _body(function: str, fields: list[Parameter]) -> Any:
    """Return the request model with some parameters of a function."""
    title = function.title().replace("_", "") + "".join(sorted(one.name.title() for one in fields))
    types = {one.name: (one.annotation, ... if one.default is one.empty else one.default) for one in fields}
    return create_model(title, __base__=wire.Body, **types)  # type: ignore[call-overload]


async def _read_view(context: RequestContext, view: Callable[..., Any], **given: Any) -> Any:
    return await run_in_threadpool(lambda: context.desk.store.read(view, **given))


async def _call_method(context: RequestContext, method: Callable[..., Any], **given: Any) -> Any:
    return await run_in_threadpool(method, context.desk, **given)


_change = partial(_route, RequestContext.changed)
_view = partial(_route, _read_view)
_query_route = partial(_route, _call_method)

_view("GET /items", Reader, views.find_items, wire.Items)
_add = "Add items, or update those whose names exist. A tag that a user has rejected is not added again."
_change("POST /items", Tagging, changes.add_items, wire.Added, _add, 201, source="import")
_query_route("GET /items/{number}", Reader, TaggingServer.item, wire.Item)
_change("PUT /items/{number}", Tagging, changes.edit_item)
_remove = "Remove an item; this can be undone, and its content stays. To erase it, forget it."
_change("DELETE /items/{number}", Tagging, changes.set_status, description=_remove, status="removed")
_done = "Mark the tags of an item as complete: other labels are absent, and the model is trained on it."
_change("POST /items/{number}/done", Tagging, changes.set_status, description=_done, status="done")
_reopen = "Mark an item as waiting again."
_change("POST /items/{number}/reopen", Tagging, changes.set_status, description=_reopen, status="waiting")
_tag = "Give an item a label; a probability means that a suggestion was accepted."
_change("POST /items/{number}/tags", Tagging, changes.set_tag, description=_tag, state="present")
_reject = "Reject a label of an item; it is not suggested for the item again."
_clear = "Remove a tag or the rejection of a label from an item."
for _path, _words, _state in (("reject", _reject, "rejected"), ("clear", _clear, None)):
    _change(
        f"POST /items/{{number}}/{_path}",
        Tagging,
        changes.set_tag,
        description=_words,
        state=_state,
        probability=None,
    )
_query_route("GET /items/{number}/explain", Reader, TaggingServer.explain, wire.Why)
_history = "Return the changes of an item, the newest first."
_view("GET /items/{number}/history", Reader, views.journal, wire.Entries, _history, before=0)
_journal = "Return the journal, the newest change first."
_view("GET /changes", Reader, views.journal, wire.Entries, _journal, number=None)
_change("POST /changes/{number}/undo", Tagging, undo)
_change("POST /undo", Tagging, changes.undo_last)
_query_route("GET /queue", Reader, TaggingServer.queue, wire.Items)
_change("POST /queue/{number}/release", Tagging, changes.release)
_query_route("GET /labels", Reader, TaggingServer.labels, wire.Labels)
_new_label = "Add a label; tagging an item with a new name adds one too."
_change("POST /labels", Tagging, changes.add_label, wire.Made, _new_label, 201)
_change("PATCH /labels/{number}", Admin, changes.change_label)
_change("POST /labels/{number}/merge", Admin, changes.merge_labels)
_change("DELETE /labels/{number}", Admin, changes.delete_label)
_query_route("GET /suspicious", Reader, TaggingServer.suspicious, wire.Doubts)
_query_route("GET /quality", Reader, TaggingServer.quality, wire.Quality)
_query_route("POST /retune", Admin, TaggingServer.retune, wire.Retune, code=202)
_query_route("GET /status", Reader, TaggingServer.status, wire.State)
_view("GET /jobs", Reader, views.jobs, wire.Jobs, number=None)
_view("GET /jobs/{number}", Reader, views.job, wire.ImportJob)
_query_route("DELETE /jobs/{number}", Admin, TaggingServer.cancel_import, wire.ImportJob)
_view("GET /tokens", Admin, views.tokens, wire.Tokens)
