"""Annif's own REST interface, so that its clients can be pointed here: one project, called simlabel."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from simlabel import __version__
from simlabel.desk import _changes as changes
from simlabel.desk._desk import Desk
from simlabel.desk._problems import DeskError, NotFound
from simlabel.desk.api._asking import Reader, Tagging, TheDesk

router = APIRouter(prefix="/v1", tags=["Annif"])
PROJECT, _TEXT, _BATCH = "simlabel", "text", 32
_Project = Annotated[str, Path(max_length=100)]
_Limit = Annotated[int, Field(ge=1, le=1000)]
_Threshold = Annotated[float, Field(ge=0, le=1)]


class _Subject(BaseModel):
    uri: Annotated[str, Field(max_length=500)] | None = None
    label: Annotated[str, Field(max_length=200)] | None = None


class _Document(BaseModel):
    text: Annotated[str, Field(max_length=200_000)]
    document_id: Annotated[str, Field(max_length=200)] | None = None


class _Learnt(BaseModel):
    text: Annotated[str, Field(max_length=200_000)]
    subjects: Annotated[list[_Subject], Field(max_length=200)]


class _Documents(BaseModel):
    documents: Annotated[list[_Document], Field(max_length=_BATCH)]


class AnnifForm(BaseModel):
    """What `suggest` is sent, as a form."""

    text: Annotated[str, Field(max_length=200_000)]
    limit: _Limit = 10
    threshold: _Threshold = 0.0


@router.get("/")
def show_info(desk: TheDesk, person: Reader) -> dict[str, str]:
    """What answers here."""
    return {"title": "simlabel, by Annif's REST interface", "version": __version__}


@router.get("/projects")
def list_projects(desk: TheDesk, person: Reader) -> dict[str, Any]:
    """The one project that there is."""
    return {"projects": [_project(desk)]}


@router.get("/projects/{project_id}")
def show_project(desk: TheDesk, person: Reader, project_id: _Project) -> dict[str, Any]:
    """A project by its id."""
    _check(project_id)
    return _project(desk)


@router.post(
    "/projects/{project_id}/suggest",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/x-www-form-urlencoded": {"schema": AnnifForm.model_json_schema()}},
        }
    },
)
async def suggest(desk: TheDesk, person: Reader, request: Request, project_id: _Project) -> dict[str, Any]:
    """Subjects for a text."""
    _check(project_id)
    try:
        fields = parse_qs((await request.body()).decode(), keep_blank_values=True)
        given: dict[str, Any] = {name: values[-1] for name, values in fields.items()}
        form = AnnifForm.model_validate(given)
    except ValueError:
        raise DeskError(
            "Send a form with text, and if wanted limit (1 to 1000) and threshold (0 to 1)."
        ) from None
    return {"results": (await _suggested(desk, [form.text], form.limit, form.threshold))[0]}


@router.post("/projects/{project_id}/suggest-batch")
async def suggest_batch(
    desk: TheDesk,
    person: Reader,
    project_id: _Project,
    body: _Documents,
    limit: Annotated[_Limit, Query()] = 10,
    threshold: Annotated[_Threshold, Query()] = 0.0,
) -> list[dict[str, Any]]:
    """Subjects for up to 32 texts."""
    _check(project_id)
    found = await _suggested(desk, [document.text for document in body.documents], limit, threshold)
    return [
        {"document_id": document.document_id, "results": results}
        for document, results in zip(body.documents, found, strict=True)
    ]


@router.post("/projects/{project_id}/learn", status_code=204, response_class=Response)
async def learn(
    desk: TheDesk,
    person: Tagging,
    project_id: _Project,
    body: Annotated[list[_Learnt], Field(max_length=1000)],
) -> Response:
    """Add texts with their subjects, as items that are done."""
    _check(project_id)
    column = await asyncio.to_thread(_text_column, desk)
    names = await asyncio.to_thread(desk.label_names)
    by_uri = {_uri(number): name for number, name in names.items()}
    new = [
        changes.NewItem(
            {column: each.text}, None, [_name(one, by_uri) for one in each.subjects], True, "person"
        )
        for each in body
    ]
    await asyncio.wrap_future(desk.change(person, lambda db, who: changes.add_items(db, who, new).updated))
    return Response(status_code=204)


def _check(project_id: str) -> None:
    if project_id != PROJECT:
        raise NotFound(f"Project {project_id!r} not found; the one project here is {PROJECT!r}.")


def _project(desk: Desk) -> dict[str, Any]:
    trained = desk.predictor.published is not None
    return {
        "project_id": PROJECT,
        "name": "simlabel tagging desk",
        "language": "en",
        "backend": {"backend_id": "simlabel"},
        "vocab": {"vocab_id": "labels", "languages": ["en"]},
        "vocab_language": "en",
        "is_trained": trained,
        "modification_time": None,
    }


async def _suggested(
    desk: Desk, texts: list[str], limit: int, threshold: float
) -> list[list[dict[str, Any]]]:
    desk.predictor.current()
    column = await asyncio.to_thread(_text_column, desk)
    found = await asyncio.wrap_future(desk.predictor.suggest([{column: text} for text in texts]))
    names = await asyncio.to_thread(desk.label_names)
    return [
        [
            {"uri": _uri(each.label), "label": names[each.label], "notation": None, "score": each.probability}
            for each in one
            if each.label in names and each.probability >= threshold
        ][:limit]
        for one in found
    ]


def _text_column(desk: Desk) -> str:
    """The column that a bare text is for: the one with the longest texts."""
    rows = desk.store.rows(
        "SELECT j.key FROM (SELECT content FROM items WHERE status <> 'removed' ORDER BY id DESC LIMIT 50) i"
        ", json_each(i.content) j WHERE j.type = 'text' "
        "GROUP BY j.key ORDER BY sum(length(j.value)) DESC LIMIT 1"
    )
    return str(rows[0]["key"]) if rows else _TEXT


def _uri(number: int) -> str:
    return f"urn:simlabel:label:{number}"


def _name(subject: _Subject, by_uri: dict[str, str]) -> str:
    if subject.uri in by_uri:
        return by_uri[subject.uri or ""]
    name = subject.label or subject.uri
    if not name:
        raise DeskError("A subject needs a label or a uri.")
    return name
