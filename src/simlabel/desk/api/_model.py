"""What the model says: suggestions, reasons, doubts, quality; and having it choose its values anew."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query

from simlabel.desk import _views as views
from simlabel.desk._problems import NotFound
from simlabel.desk._why import shared_words, why
from simlabel.desk.api import _schemas as wire
from simlabel.desk.api._asking import Admin, Reader, TheDesk
from simlabel.desk.api._items import ItemNumber, Limit

router = APIRouter(prefix="/api", tags=["model"])


@router.post("/suggest", response_model=wire.SuggestionsSchema)
async def suggest(desk: TheDesk, person: Reader, body: wire.SuggestBody) -> Any:
    """Labels for one row or many; nothing of them is stored."""
    position = desk.predictor.current().position
    found = await asyncio.wrap_future(desk.predictor.suggest(body.rows))
    names = await asyncio.to_thread(desk.label_names)
    results = [desk.named(one, names, set(), body.limit, body.threshold) for one in found]
    return {"position": position, "results": results}


@router.get("/items/{number}/explain", response_model=wire.WhySchema)
def explain(
    desk: TheDesk,
    person: Reader,
    number: ItemNumber,
    label: Annotated[str, Query(min_length=1, max_length=200)],
) -> Any:
    """Labelled items and words that speak for a label of an item, or against it."""
    published = desk.predictor.current()
    with desk.store.reading() as db:
        content = views.item_view(db, number)["content"]
        numbers = {name: key for key, name in views.label_names(db).items()}
    found = why(published, content, numbers.get(label, 0))
    if found is None:
        raise NotFound(f"The model knows no label {label!r}: no item that is done has it.")
    telling = [word["term"] for word in found["words"]]
    with desk.store.reading() as db:
        others = {view["id"]: view for view in views.item_views(db, [one["item"] for one in found["items"]])}
    items = [
        {
            **one,
            "title": others[one["item"]]["title"],
            "shared": shared_words(content, others[one["item"]]["content"], telling),
        }
        for one in found["items"]
        if one["item"] in others and one["item"] != number
    ]
    return {**found, "label": label, "items": items}


@router.get("/suspicious", response_model=wire.SuspicionsSchema)
def suspicious(desk: TheDesk, person: Reader, limit: Limit = 50) -> Any:
    """Tags that the other items contradict: probably wrong, or probably missing."""
    known = desk.follower.insights
    with desk.store.reading() as db:
        names = views.label_names(db)
        found: list[dict[str, Any]] = []
        for one in known["suspicious"]:
            shown = views.item_views(db, [one["item"]])
            if not shown or one["label"] not in names or len(found) == limit:
                continue
            has = any(
                tag["label"] == names[one["label"]] and tag["state"] == "present" for tag in shown[0]["tags"]
            )
            said = any(
                tag["label"] == names[one["label"]] and tag["state"] == "rejected" for tag in shown[0]["tags"]
            )
            if has == one["given"] and not said:  # nobody has looked at it meanwhile
                found.append({**one, "title": shown[0]["title"], "label": names[one["label"]]})
    return {"position": known.get("quality_position"), "suspicious": found}


@router.get("/quality", response_model=wire.QualitySchema)
def quality(desk: TheDesk, person: Reader) -> Any:
    """Leave-one-out figures, calibration, and what changed."""
    with desk.store.reading() as db:
        return {
            "now": desk.follower.insights["quality"],
            "over_time": views.quality_over_time(db, 200),
            "week": views.week(db, desk.store.clock()),
        }


@router.post("/retune", response_model=wire.RetuneSchema, status_code=202)
def retune(desk: TheDesk, person: Admin) -> Any:
    """Choose all values of the model anew; the old one answers until that is done."""
    desk.predictor.current()
    return {"started": desk.follower.retune()}


@router.get("/status", response_model=wire.StatusSchema)
def status(desk: TheDesk, person: Reader) -> Any:
    """How the desk is, and what it is doing."""
    return desk.status()
