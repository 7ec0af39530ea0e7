"""Labels: rename, merge, delete, describe."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter

from simlabel.desk import _changes as changes
from simlabel.desk import _views as views
from simlabel.desk.api import _schemas as wire
from simlabel.desk.api._asking import Admin, MaybeOnce, Reader, Tagging, TheDesk
from simlabel.desk.api._items import ItemNumber as LabelNumber
from simlabel.desk.api._items import _seq

router = APIRouter(prefix="/api/labels", tags=["labels"])


@router.get("", response_model=wire.LabelsSchema)
def list_labels(desk: TheDesk, person: Reader) -> Any:
    """All labels with how often they are used and how well they are recognised."""
    quality = desk.follower.insights["quality"] or {}
    with desk.store.reading() as db:
        return {"labels": views.label_views(db, quality.get("by_label", {}))}


@router.post("", response_model=wire.NumberSchema, status_code=201)
async def add_label(desk: TheDesk, person: Tagging, body: wire.LabelBody, once: MaybeOnce) -> Any:
    """Make a label; tagging an item with a new name makes one too."""
    return await asyncio.wrap_future(
        desk.change(
            person, lambda db, who: {"id": changes.add_label(db, who, body.name, body.description)}, once
        )
    )


@router.patch("/{number}", response_model=wire.DoneSchema)
async def change_label(
    desk: TheDesk, person: Admin, number: LabelNumber, body: wire.LabelChangeBody, once: MaybeOnce
) -> Any:
    """Rename a label, or describe it."""
    return await _seq(
        desk, person, lambda db, who: changes.change_label(db, who, number, body.name, body.description), once
    )


@router.post("/{number}/merge", response_model=wire.DoneSchema)
async def merge_label(
    desk: TheDesk, person: Admin, number: LabelNumber, body: wire.MergeBody, once: MaybeOnce
) -> Any:
    """Give all that has this label another one instead."""
    return await _seq(desk, person, lambda db, who: changes.merge_labels(db, who, number, body.into), once)


@router.delete("/{number}", response_model=wire.DoneSchema)
async def delete_label(desk: TheDesk, person: Admin, number: LabelNumber, once: MaybeOnce) -> Any:
    """Take a label away from everything; this can be undone."""
    return await _seq(desk, person, lambda db, who: changes.delete_label(db, who, number), once)
