"""Items, tags, the queue, undo, forget."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from simlabel.desk import _changes as changes
from simlabel.desk import _views as views
from simlabel.desk._journal import undo
from simlabel.desk.api import _schemas as wire
from simlabel.desk.api._asking import Admin, MaybeOnce, Reader, Tagging, TheDesk

router = APIRouter(prefix="/api", tags=["items"])
ItemNumber = Annotated[int, Path(ge=1, le=2**53)]
Limit = Annotated[int, Query(ge=1, le=200)]
_FORGET_SECONDS = 30.0


@router.get("/items", response_model=wire.ItemsSchema)
def list_items(
    desk: TheDesk,
    person: Reader,
    status: wire.Status | None = None,
    text: Annotated[str | None, Query(max_length=200)] = None,
    label: Annotated[str | None, Query(max_length=200)] = None,
    before: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Limit = 50,
) -> Any:
    """Items, the last first; `before` is the number of the last one that is known."""
    with desk.store.reading() as db:
        return {"items": views.item_views(db, views.find_items(db, status, text, label, before, limit))}


@router.post("/items", response_model=wire.AddedSchema, status_code=201)
async def add_items(desk: TheDesk, person: Tagging, body: wire.ItemsBody, once: MaybeOnce) -> Any:
    """Add items, or update those whose names are known. A tag that somebody rejected does not come back."""
    new = [changes.NewItem(each.content, each.name, each.tags, each.done) for each in body.items]

    def make(db: Any, who: changes.Who) -> Any:
        added = changes.add_items(db, who, new)
        (position,) = db.execute("SELECT max(seq) FROM journal").fetchone()
        return {"ids": added.ids, "updated": added.updated, "position": position}

    return await asyncio.wrap_future(desk.change(person, make, once))


@router.get("/items/{number}", response_model=wire.ItemSchema)
def show_item(desk: TheDesk, person: Reader, number: ItemNumber) -> Any:
    """An item with its tags and with suggestions."""
    with desk.store.reading() as db:
        item = views.item_view(db, number)
    return desk.with_suggestions([item])[0]


@router.put("/items/{number}", response_model=wire.DoneSchema)
async def edit_item(
    desk: TheDesk, person: Tagging, number: ItemNumber, body: wire.ContentBody, once: MaybeOnce
) -> Any:
    """Give an item other content."""
    return await _seq(desk, person, lambda db, who: changes.edit_item(db, who, number, body.content), once)


@router.delete("/items/{number}", response_model=wire.DoneSchema)
async def remove_item(desk: TheDesk, person: Tagging, number: ItemNumber, once: MaybeOnce) -> Any:
    """Put an item away; this can be undone, and its content stays. To erase it, forget it."""
    return await _seq(desk, person, lambda db, who: changes.set_status(db, who, number, "removed"), once)


@router.post("/items/{number}/tags", response_model=wire.DoneSchema)
async def tag_item(
    desk: TheDesk, person: Tagging, number: ItemNumber, body: wire.TagBody, once: MaybeOnce
) -> Any:
    """Give an item a label; with a probability, a suggestion was accepted."""
    source = "person" if body.probability is None else "accepted"
    return await _seq(
        desk,
        person,
        lambda db, who: changes.set_tag(db, who, number, body.label, "present", source, body.probability),
        once,
    )


@router.post("/items/{number}/reject", response_model=wire.DoneSchema)
async def reject_tag(
    desk: TheDesk, person: Tagging, number: ItemNumber, body: wire.LabelNameBody, once: MaybeOnce
) -> Any:
    """Say that an item has not got a label; it is not suggested for it again."""
    return await _seq(
        desk, person, lambda db, who: changes.set_tag(db, who, number, body.label, "rejected"), once
    )


@router.post("/items/{number}/clear", response_model=wire.DoneSchema)
async def clear_tag(
    desk: TheDesk, person: Tagging, number: ItemNumber, body: wire.LabelNameBody, once: MaybeOnce
) -> Any:
    """Take back what was said about a label of an item, for or against it."""
    return await _seq(desk, person, lambda db, who: changes.set_tag(db, who, number, body.label, None), once)


@router.post("/items/{number}/done", response_model=wire.DoneSchema)
async def finish_item(desk: TheDesk, person: Tagging, number: ItemNumber, once: MaybeOnce) -> Any:
    """An item has all its labels: those it has not got are absent from now on, and the model learns it."""
    return await _seq(desk, person, lambda db, who: changes.set_status(db, who, number, "done"), once)


@router.post("/items/{number}/reopen", response_model=wire.DoneSchema)
async def reopen_item(desk: TheDesk, person: Tagging, number: ItemNumber, once: MaybeOnce) -> Any:
    """An item waits again."""
    return await _seq(desk, person, lambda db, who: changes.set_status(db, who, number, "waiting"), once)


@router.post("/items/{number}/forget", response_model=wire.ForgottenSchema)
def forget_item(desk: TheDesk, person: Admin, number: ItemNumber) -> Any:
    """Erase an item everywhere but in backups that were made before. It cannot be undone."""
    return {"erased": desk.forget(person, number, _FORGET_SECONDS)}


@router.get("/items/{number}/history", response_model=wire.EntriesSchema)
def item_history(desk: TheDesk, person: Reader, number: ItemNumber, limit: Limit = 50) -> Any:
    """Who changed an item and when."""
    with desk.store.reading() as db:
        return {"changes": views.journal_views(db, number, None, limit)}


@router.get("/queue", response_model=wire.ItemsSchema)
def show_queue(desk: TheDesk, person: Reader, limit: Limit = 20) -> Any:
    """Waiting items, most useful first, with suggestions."""
    with desk.store.reading() as db:
        items = views.item_views(db, views.waiting_items(db, desk.follower.insights["order"], limit))
    return {"items": desk.with_suggestions(items)}


@router.post("/queue/next", response_model=wire.NextSchema)
async def next_item(desk: TheDesk, person: Tagging, body: wire.NextBody) -> Any:
    """Lease the most useful item that nobody is at, for ten minutes."""
    number = await asyncio.wrap_future(
        desk.change(person, lambda db, who: desk.lease_next(db, who, body.skip))
    )
    return {"item": None if number is None else await asyncio.to_thread(show_item, desk, person, number)}


@router.post("/queue/{number}/lease", response_model=wire.LeaseSchema)
async def lease_item(desk: TheDesk, person: Tagging, number: ItemNumber) -> Any:
    """Keep others off an item for ten minutes, or for ten more."""
    until = await asyncio.wrap_future(desk.change(person, lambda db, who: changes.lease(db, who, number)))
    return {"holder": person.name, "until": until}


@router.post("/queue/{number}/release", response_model=wire.DoneSchema)
async def release_item(desk: TheDesk, person: Tagging, number: ItemNumber) -> Any:
    """Give an item back that is not done."""
    return await _seq(desk, person, lambda db, who: changes.release(db, who, number), None)


@router.get("/changes", response_model=wire.EntriesSchema)
def list_changes(
    desk: TheDesk,
    person: Reader,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    limit: Limit = 50,
) -> Any:
    """The journal, the last change first."""
    with desk.store.reading() as db:
        return {"changes": views.journal_views(db, None, before, limit)}


@router.post("/changes/{number}/undo", response_model=wire.DoneSchema)
async def undo_change(desk: TheDesk, person: Tagging, number: ItemNumber, once: MaybeOnce) -> Any:
    """Undo a change; refused where what it did has been changed since."""
    return await _seq(desk, person, lambda db, who: undo(db, who.at, who.actor, number), once)


@router.post("/undo", response_model=wire.DoneSchema)
async def undo_last(desk: TheDesk, person: Tagging, once: MaybeOnce) -> Any:
    """Undo what you did last."""
    return await _seq(desk, person, desk.undo_last, once)


async def _seq(desk: Any, person: Any, make: Any, once: Any) -> dict[str, Any]:
    return {"seq": await asyncio.wrap_future(desk.change(person, make, once))}
