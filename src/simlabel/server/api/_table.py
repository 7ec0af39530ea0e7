"""Routes that are made from functions: what one takes is what is sent, its words are the document's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

from fastapi import APIRouter
from fastapi.concurrency import run_in_threadpool
from pydantic import create_model

from simlabel.server import _changes as changes
from simlabel.server import _views as views
from simlabel.server._desk import Desk
from simlabel.server._journal import undo
from simlabel.server._kinds import Number
from simlabel.server.api import _schemas as wire
from simlabel.server.api._asking import Admin, Asking, Reader, Tagging

router = APIRouter(prefix="/api", tags=["items"])


def _route(
    call: Callable[..., Awaitable[Any]],
    route: str,
    who: Any,
    function: Callable[..., Any],
    /,
    answer: Any = wire.Done,
    words: str = "",
    code: int = 200,
    **known: Any,
) -> None:
    """Add a route that has `call` call a function.

    The function's parameters, but for the first, are sent: in the path, in the query of a GET, else in the
    body; `known` are those that the route gives itself. An answer that has one field is what the function
    gives. Without `words`, the function's own are those of the OpenAPI document.
    """
    method, path = route.split()
    kinds = get_type_hints(function, include_extras=True)
    _, *taken = signature(function).parameters.values()
    sent = [one.replace(annotation=kinds[one.name]) for one in taken if one.name not in known]
    shown = [Parameter("asks", Parameter.KEYWORD_ONLY, annotation=who)]
    if "{number}" in path:
        shown.append(Parameter("number", Parameter.KEYWORD_ONLY, annotation=Number))
        sent = [one for one in sent if one.name != "number"]
    if method == "GET":
        shown += [one.replace(kind=Parameter.KEYWORD_ONLY) for one in sent]
    elif sent:
        shown.append(Parameter("body", Parameter.KEYWORD_ONLY, annotation=_body(function.__name__, sent)))
    field = next(iter(answer.model_fields)) if len(answer.model_fields) == 1 else None

    async def answered(asks: Asking, body: Any = (), **given: Any) -> Any:
        found = await call(asks, function, **given, **dict(body), **known)
        return found if field is None else {field: found}

    answered.__signature__ = Signature(shown)  # type: ignore[attr-defined]
    router.add_api_route(
        path,
        answered,
        methods=[method],
        name=function.__name__,
        response_model=answer,
        status_code=code,
        description=words or (function.__doc__ or "").partition("\n")[0],
    )


def _body(function: str, fields: list[Parameter]) -> Any:
    """What a function takes, as a body."""
    title = function.title().replace("_", "") + "".join(sorted(one.name.title() for one in fields))
    wanted = {one.name: (one.annotation, ... if one.default is one.empty else one.default) for one in fields}
    return create_model(title, __base__=wire.Body, **wanted)  # type: ignore[call-overload]


async def _read(asks: Asking, view: Callable[..., Any], **given: Any) -> Any:
    return await run_in_threadpool(lambda: asks.desk.store.read(view, **given))


async def _asked(asks: Asking, question: Callable[..., Any], **given: Any) -> Any:
    return await run_in_threadpool(question, asks.desk, **given)


_change = partial(_route, Asking.changed)
_view = partial(_route, _read)
_ask = partial(_route, _asked)

_view("GET /items", Reader, views.find_items, wire.Items)
_added = "Add items, or update those whose names are known. A tag that somebody rejected does not come back."
_change("POST /items", Tagging, changes.add_items, wire.Added, _added, 201, source="import")
_ask("GET /items/{number}", Reader, Desk.item, wire.Item)
_change("PUT /items/{number}", Tagging, changes.edit_item)
_away = "Put an item away; this can be undone, and its content stays. To erase it, forget it."
_change("DELETE /items/{number}", Tagging, changes.set_status, words=_away, status="removed")
_all_known = "An item has all its labels: others are absent from now on, and the model learns it."
_change("POST /items/{number}/done", Tagging, changes.set_status, words=_all_known, status="done")
_again = "An item waits again."
_change("POST /items/{number}/reopen", Tagging, changes.set_status, words=_again, status="waiting")
_given = "Give an item a label; with a probability, a suggestion was accepted."
_change("POST /items/{number}/tags", Tagging, changes.set_tag, words=_given, state="present")
_not = "Say that an item has not got a label; it is not suggested for it again."
_change(
    "POST /items/{number}/reject", Tagging, changes.set_tag, words=_not, state="rejected", probability=None
)
_back = "Take back what was said about a label of an item, for or against it."
_change("POST /items/{number}/clear", Tagging, changes.set_tag, words=_back, state=None, probability=None)
_ask("GET /items/{number}/explain", Reader, Desk.explain, wire.Why)
_whose = "Who changed an item and when."
_view("GET /items/{number}/history", Reader, views.journal, wire.Entries, _whose, before=0)
_view("GET /changes", Reader, views.journal, wire.Entries, "The journal, the last change first.", number=None)
_change("POST /changes/{number}/undo", Tagging, undo)
_change("POST /undo", Tagging, changes.undo_last)
_ask("GET /queue", Reader, Desk.queue, wire.Items)
_change("POST /queue/{number}/release", Tagging, changes.release)
_ask("GET /labels", Reader, Desk.labels, wire.Labels)
_new = "Make a label; tagging an item with a new name makes one too."
_change("POST /labels", Tagging, changes.add_label, wire.Made, _new, 201)
_change("PATCH /labels/{number}", Admin, changes.change_label)
_change("POST /labels/{number}/merge", Admin, changes.merge_labels)
_change("DELETE /labels/{number}", Admin, changes.delete_label)
_ask("GET /suspicious", Reader, Desk.suspicious, wire.Doubts)
_ask("GET /quality", Reader, Desk.quality, wire.Quality)
_ask("POST /retune", Admin, Desk.retune, wire.Retune, code=202)
_ask("GET /status", Reader, Desk.status, wire.State)
_view("GET /jobs", Reader, views.jobs, wire.Jobs, number=None)
_view("GET /jobs/{number}", Reader, views.job, wire.Job)
_ask("DELETE /jobs/{number}", Admin, Desk.cancel_import, wire.Job)
_view("GET /tokens", Admin, views.tokens, wire.Tokens)
