"""Items, tags, labels, the queue, undo, forget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Annotated, Any

from fastapi import APIRouter, Query

from simlabel.desk import _changes as changes
from simlabel.desk import _views as views
from simlabel.desk._journal import By, undo
from simlabel.desk._people import revoke_token
from simlabel.desk.api import _schemas as wire
from simlabel.desk.api._asking import Admin, Reader, Tagging

router = APIRouter(prefix="/api", tags=["items"])
_Before = Annotated[int, Query(ge=0, le=2**53)]
_FORGET_SECONDS = 30.0


def _act(route: str, who: Any, change: Callable[..., Any], words: str = "", /, **known: Any) -> None:
    """A route that makes a change and answers with its number; what is sent is what the change takes.

    Its words in the OpenAPI document are those of the change where none are given; `known` are arguments
    that the route gives itself.
    """
    method, path = route.split()
    in_path = {"number": wire.InPath} if "{number}" in path else {}
    body = wire.body_of(change, {"by", *in_path, *known})
    kinds = {"asks": who, **in_path} | ({} if body is None else {"body": body})

    async def make(asks: Any, body: Any = None, **given: Any) -> dict[str, Any]:
        sent = {} if body is None else {name: getattr(body, name) for name in type(body).model_fields}
        return {"seq": await asks.changed(change, **given, **known, **sent)}

    parameters = [Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind) for name, kind in kinds.items()]
    make.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    told = words or (change.__doc__ or "").partition("\n")[0]
    router.add_api_route(path, make, methods=[method], response_model=wire.Done, description=told)


_act("PUT /items/{number}", Tagging, changes.edit_item)
_put_away = "Put an item away; this can be undone, and its content stays. To erase it, forget it."
_act("DELETE /items/{number}", Tagging, changes.set_status, _put_away, status="removed")
_all_known = "An item has all its labels: others are absent from now on, and the model learns it."
_act("POST /items/{number}/done", Tagging, changes.set_status, _all_known, status="done")
_act("POST /items/{number}/reopen", Tagging, changes.set_status, "An item waits again.", status="waiting")
_given = "Give an item a label; with a probability, a suggestion was accepted."
_act("POST /items/{number}/tags", Tagging, changes.set_tag, _given, state="present")
_not_it = "Say that an item has not got a label; it is not suggested for it again."
_act("POST /items/{number}/reject", Tagging, changes.set_tag, _not_it, state="rejected", probability=None)
_unsaid = "Take back what was said about a label of an item, for or against it."
_act("POST /items/{number}/clear", Tagging, changes.set_tag, _unsaid, state=None, probability=None)
_act("POST /queue/{number}/release", Tagging, changes.release)
_act("POST /changes/{number}/undo", Tagging, undo)
_act("POST /undo", Tagging, changes.undo_last)
_act("PATCH /labels/{number}", Admin, changes.change_label)
_act("POST /labels/{number}/merge", Admin, changes.merge_labels)
_act("DELETE /labels/{number}", Admin, changes.delete_label)
_act("DELETE /tokens/{number}", Admin, revoke_token)


@router.get("/items", response_model=wire.Items)
def list_items(
    asks: Reader,
    status: wire.Status | None = None,
    text: wire.Asked = None,
    label: wire.Asked = None,
    before: _Before = 0,
    limit: wire.Limit = 50,
) -> Any:
    """Items, the last first; `before` is the number of the last one that is known."""
    with asks.desk.store.reading() as db:
        return {"items": views.item_views(db, views.find_items(db, status, text, label, before, limit))}


@router.post("/items", response_model=wire.Added, status_code=201)
async def add_items(asks: Tagging, body: wire.ItemsBody) -> Any:
    """Add items, or update those whose names are known. A tag that somebody rejected does not come back."""

    def make(by: By) -> Any:
        added = changes.add_items(by, body.items)
        (position,) = by.one("SELECT max(seq) FROM journal")
        return {"ids": added.ids, "updated": added.updated, "position": position}

    return await asks.changed(make)


@router.get("/items/{number}", response_model=wire.Item)
def show_item(asks: Reader, number: wire.InPath) -> Any:
    """An item with its tags and with suggestions."""
    return asks.desk.with_suggestions([asks.desk.store.read(views.item_view, number)])[0]


@router.post("/items/{number}/forget", response_model=wire.Forgotten)
def forget_item(asks: Admin, number: wire.InPath) -> Any:
    """Erase an item everywhere but in backups that were made before. It cannot be undone."""
    return {"erased": asks.desk.forget(asks.person, number, _FORGET_SECONDS)}


@router.get("/items/{number}/history", response_model=wire.Entries)
def item_history(asks: Reader, number: wire.InPath, limit: wire.Limit = 50) -> Any:
    """Who changed an item and when."""
    return {"changes": asks.desk.store.read(views.journal_views, number, None, limit)}


@router.get("/changes", response_model=wire.Entries)
def list_changes(asks: Reader, before: _Before = 0, limit: wire.Limit = 50) -> Any:
    """The journal, the last change first."""
    return {"changes": asks.desk.store.read(views.journal_views, None, before, limit)}


@router.get("/queue", response_model=wire.Items)
def show_queue(asks: Reader, limit: wire.Limit = 20) -> Any:
    """Waiting items, most useful first, with suggestions."""
    order = asks.desk.follower.insights["order"]
    with asks.desk.store.reading() as db:
        items = views.item_views(db, views.waiting_items(db, order, limit))
    return {"items": asks.desk.with_suggestions(items)}


@router.post("/queue/next", response_model=wire.Next)
async def next_item(asks: Tagging, body: wire.NextBody) -> Any:
    """Lease the most useful item that nobody is at, for ten minutes."""
    number = await asks.changed(changes.lease_first, asks.desk.follower.insights["order"], body.skip)
    return {"item": None if number is None else await asyncio.to_thread(show_item, asks, number)}


@router.post("/queue/{number}/lease", response_model=wire.Lease)
async def lease_item(asks: Tagging, number: wire.InPath) -> Any:
    """Keep others off an item for ten minutes, or for ten more."""
    return {"holder": asks.person.name, "until": await asks.changed(changes.lease, number)}


@router.get("/labels", response_model=wire.Labels)
def list_labels(asks: Reader) -> Any:
    """All labels with how often they are used and how well they are recognised."""
    quality = asks.desk.follower.insights["quality"] or {}
    return {"labels": asks.desk.store.read(views.label_views, quality.get("by_label", {}))}


@router.post("/labels", response_model=wire.Made, status_code=201)
async def add_label(asks: Tagging, body: wire.LabelBody) -> Any:
    """Make a label; tagging an item with a new name makes one too."""
    return {"id": await asks.changed(changes.add_label, body.name, body.description)}
