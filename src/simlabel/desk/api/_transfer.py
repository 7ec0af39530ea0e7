"""Tables in and out."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from simlabel.desk import _views as views
from simlabel.desk._exports import FORMATS, exported
from simlabel.desk._imports import ImportOptions
from simlabel.desk._problems import DeskError, NotFound, TooMuch, Unwritable
from simlabel.desk.api import _schemas as wire
from simlabel.desk.api._asking import Admin, Reader, TheDesk
from simlabel.desk.api._gate import MOST_IMPORT_BYTES
from simlabel.desk.api._items import ItemNumber

router = APIRouter(prefix="/api", tags=["transfer"])
_Column = Annotated[str | None, Query(max_length=200)]


@router.post(
    "/imports",
    response_model=wire.JobSchema,
    status_code=202,
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "The file itself: CSV, JSON, JSON Lines, Parquet or xlsx.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def import_table(
    desk: TheDesk,
    person: Admin,
    request: Request,
    name: Annotated[str, Query(min_length=1, max_length=100)] = "table",
    label_column: _Column = None,
    separator: Annotated[str | None, Query(min_length=1, max_length=10)] = None,
    id_column: _Column = None,
    done: bool = True,
) -> Any:
    """Import a table in the background; the job says how far it is, and what could not be read."""
    if desk.store.read_only:
        raise Unwritable("Nothing was changed: the store lies where this server may only read.")
    place, size = desk.imports.place(), 0
    try:
        with place.open("wb") as file:
            async for piece in request.stream():
                size += len(piece)
                if size > MOST_IMPORT_BYTES:
                    raise TooMuch(f"A file may have {MOST_IMPORT_BYTES:,} bytes; import it in parts.")
                await asyncio.to_thread(file.write, piece)
        if not size:
            raise DeskError("The file is empty.")
        options = ImportOptions(name, label_column, separator, id_column, done)
        number = await asyncio.to_thread(desk.imports.add, person.name, place, options)
    except BaseException:
        place.unlink(missing_ok=True)
        raise
    return await asyncio.to_thread(show_job, desk, person, number)


@router.get("/jobs", response_model=wire.JobsSchema)
def list_jobs(desk: TheDesk, person: Reader) -> Any:
    """Imports, the last first."""
    with desk.store.reading() as db:
        return {"jobs": views.job_views(db)}


@router.get("/jobs/{number}", response_model=wire.JobSchema)
def show_job(desk: TheDesk, person: Reader, number: ItemNumber) -> Any:
    """How far an import is."""
    with desk.store.reading() as db:
        found = views.job_views(db, number)
    if not found:
        raise NotFound(f"There is no job {number}.")
    return found[0]


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {kind.partition(";")[0]: {} for kind in FORMATS.values()}}},
)
def export(
    desk: TheDesk, person: Reader, format: Literal["csv", "jsonl", "xlsx"] = "csv"
) -> StreamingResponse:
    """All items with their tags. In CSV and xlsx no cell is a formula."""
    pieces = exported(desk.store, format)
    headers = {"content-disposition": f'attachment; filename="items.{format}"'}
    return StreamingResponse(pieces, media_type=FORMATS[format], headers=headers)
