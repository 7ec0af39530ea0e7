"""Items, tags, labels, the queue, undo, forget."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query

from simlabel.desk import _changes as changes
from simlabel.desk import _views as views
from simlabel.desk._journal import By, undo
from simlabel.desk.api import _schemas as wire
from simlabel.desk.api._asking import Admin, Reader, Tagging

router = APIRouter(prefix="/api", tags=["items"])
_Before = Annotated[int, Query(ge=0, le=2**53)]
_FORGET_SECONDS = 30.0


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
    new = [changes.NewItem(each.content, each.name, each.tags, each.done) for each in body.items]

    def make(by: By) -> Any:
        added = changes.add_items(by, new)
        (position,) = by.one("SELECT max(seq) FROM journal")
        return {"ids": added.ids, "updated": added.updated, "position": position}

    return await asks.changed(make)


@router.get("/items/{number}", response_model=wire.ItemSchema)
def show_item(asks: Reader, number: wire.InPath) -> Any:
    """An item with its tags and with suggestions."""
    with asks.desk.store.reading() as db:
        item = views.item_view(db, number)
    return asks.desk.with_suggestions([item])[0]


@router.put("/items/{number}", response_model=wire.Done)
async def edit_item(asks: Tagging, number: wire.InPath, body: wire.ContentBody) -> Any:
    """Give an item other content."""
    return await asks.seq(changes.edit_item, number, body.content)


@router.delete("/items/{number}", response_model=wire.Done)
async def remove_item(asks: Tagging, number: wire.InPath) -> Any:
    """Put an item away; this can be undone, and its content stays. To erase it, forget it."""
    return await asks.seq(changes.set_status, number, "removed")


@router.post("/items/{number}/tags", response_model=wire.Done)
async def tag_item(asks: Tagging, number: wire.InPath, body: wire.TagBody) -> Any:
    """Give an item a label; with a probability, a suggestion was accepted."""
    source = "person" if body.probability is None else "accepted"
    return await asks.seq(changes.set_tag, number, body.label, "present", source, body.probability)


@router.post("/items/{number}/reject", response_model=wire.Done)
async def reject_tag(asks: Tagging, number: wire.InPath, body: wire.LabelNameBody) -> Any:
    """Say that an item has not got a label; it is not suggested for it again."""
    return await asks.seq(changes.set_tag, number, body.label, "rejected")


@router.post("/items/{number}/clear", response_model=wire.Done)
async def clear_tag(asks: Tagging, number: wire.InPath, body: wire.LabelNameBody) -> Any:
    """Take back what was said about a label of an item, for or against it."""
    return await asks.seq(changes.set_tag, number, body.label, None)


@router.post("/items/{number}/done", response_model=wire.Done)
async def finish_item(asks: Tagging, number: wire.InPath) -> Any:
    """An item has all its labels: those it has not got are absent from now on, and the model learns it."""
    return await asks.seq(changes.set_status, number, "done")


@router.post("/items/{number}/reopen", response_model=wire.Done)
async def reopen_item(asks: Tagging, number: wire.InPath) -> Any:
    """An item waits again."""
    return await asks.seq(changes.set_status, number, "waiting")


@router.post("/items/{number}/forget", response_model=wire.Forgotten)
def forget_item(asks: Admin, number: wire.InPath) -> Any:
    """Erase an item everywhere but in backups that were made before. It cannot be undone."""
    return {"erased": asks.desk.forget(asks.person, number, _FORGET_SECONDS)}


@router.get("/items/{number}/history", response_model=wire.Entries)
def item_history(asks: Reader, number: wire.InPath, limit: wire.Limit = 50) -> Any:
    """Who changed an item and when."""
    with asks.desk.store.reading() as db:
        return {"changes": views.journal_views(db, number, None, limit)}


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


@router.post("/queue/{number}/lease", response_model=wire.LeaseSchema)
async def lease_item(asks: Tagging, number: wire.InPath) -> Any:
    """Keep others off an item for ten minutes, or for ten more."""
    return {"holder": asks.person.name, "until": await asks.changed(changes.lease, number)}


@router.post("/queue/{number}/release", response_model=wire.Done)
async def release_item(asks: Tagging, number: wire.InPath) -> Any:
    """Give an item back that is not done."""
    return await asks.seq(changes.release, number)


@router.get("/changes", response_model=wire.Entries)
def list_changes(asks: Reader, before: _Before = 0, limit: wire.Limit = 50) -> Any:
    """The journal, the last change first."""
    with asks.desk.store.reading() as db:
        return {"changes": views.journal_views(db, None, before, limit)}


@router.post("/changes/{number}/undo", response_model=wire.Done)
async def undo_change(asks: Tagging, number: wire.InPath) -> Any:
    """Undo a change; refused where what it did has been changed since."""
    return await asks.seq(undo, number)


@router.post("/undo", response_model=wire.Done)
async def undo_last(asks: Tagging) -> Any:
    """Undo what you did last."""
    return await asks.seq(changes.undo_last)


@router.get("/labels", response_model=wire.Labels, tags=["labels"])
def list_labels(asks: Reader) -> Any:
    """All labels with how often they are used and how well they are recognised."""
    quality = asks.desk.follower.insights["quality"] or {}
    with asks.desk.store.reading() as db:
        return {"labels": views.label_views(db, quality.get("by_label", {}))}


@router.post("/labels", response_model=wire.Made, status_code=201, tags=["labels"])
async def add_label(asks: Tagging, body: wire.LabelBody) -> Any:
    """Make a label; tagging an item with a new name makes one too."""
    return {"id": await asks.changed(changes.add_label, body.name, body.description)}


@router.patch("/labels/{number}", response_model=wire.Done, tags=["labels"])
async def change_label(asks: Admin, number: wire.InPath, body: wire.LabelChangeBody) -> Any:
    """Rename a label, or describe it."""
    return await asks.seq(changes.change_label, number, body.name, body.description)


@router.post("/labels/{number}/merge", response_model=wire.Done, tags=["labels"])
async def merge_label(asks: Admin, number: wire.InPath, body: wire.MergeBody) -> Any:
    """Give all that has this label another one instead."""
    return await asks.seq(changes.merge_labels, number, body.into)


@router.delete("/labels/{number}", response_model=wire.Done, tags=["labels"])
async def delete_label(asks: Admin, number: wire.InPath) -> Any:
    """Take a label away from everything; this can be undone."""
    return await asks.seq(changes.delete_label, number)
