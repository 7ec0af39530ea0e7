"""Annif's REST API with one project, named simlabel, so that Annif's clients work with this server."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Body, Depends, Path, Query, Request, Response
from pydantic import BaseModel, Field

from simlabel import __version__
from simlabel.server._changes import NewItem, add_items
from simlabel.server._desk import TaggingServer
from simlabel.server._middleware import Reader, Tagging, json_response
from simlabel.server._types import NotFound, Probability, ServerError, Text
from simlabel.server._views import label_names, text_column

PROJECT = "simlabel"


def _check_project(project_id: Annotated[str, Path(max_length=100)]) -> None:
    if project_id != PROJECT:
        raise NotFound(f"Project {project_id!r} not found: the only project is {PROJECT!r}.")


annif_router = APIRouter(prefix="/v1", tags=["Annif"])
_project = APIRouter(prefix="/projects/{project_id}", dependencies=[Depends(_check_project)])
_Limit = Annotated[int, Field(ge=1, le=1000)]
_URI = "urn:simlabel:label:"


class _Subject(BaseModel):
    uri: Annotated[str, Field(max_length=500)] | None = None
    label: Annotated[str, Field(max_length=200)] | None = None


class _Document(BaseModel):
    text: Text
    document_id: Annotated[str, Field(max_length=200)] | None = None


class _Learned(BaseModel):
    text: Text
    subjects: Annotated[list[_Subject], Field(max_length=200)]


class _Form(BaseModel):
    text: Text
    limit: _Limit = 10
    threshold: Probability = 0.0


_FORM = {"application/x-www-form-urlencoded": {"schema": _Form.model_json_schema()}}


@annif_router.get("/")
def show_info(context: Reader) -> dict[str, str]:
    """Return the title and version of the API."""
    return {"title": "simlabel, by Annif's REST interface", "version": __version__}


@annif_router.get("/projects")
def list_projects(context: Reader) -> dict[str, Any]:
    """Return all projects: there is one."""
    return {"projects": [show_project(context)]}


@_project.get("")
def show_project(context: Reader) -> dict[str, Any]:
    """Return a project by its id."""
    return {
        "project_id": PROJECT,
        "name": "simlabel tagging desk",
        "language": "en",
        "backend": {"backend_id": "simlabel"},
        "vocab": {"vocab_id": "labels", "languages": ["en"]},
        "vocab_language": "en",
        "is_trained": context.desk.predictor.published is not None,
        "modification_time": None,
    }


@_project.post(
    "/suggest",
    response_model=dict[str, Any],
    openapi_extra={"requestBody": {"required": True, "content": _FORM}},
)
async def suggest_subjects(context: Reader, request: Request) -> Any:
    """Return subjects for a text."""
    try:
        fields = parse_qsl((await request.body()).decode(), keep_blank_values=True)
        form = _Form.model_validate(dict(fields))
    except ValueError:
        raise ServerError(
            "The form cannot be read: it has the fields text and, optionally, limit (1 to 1000) and "
            "threshold (0 to 1)."
        ) from None
    return json_response(
        {"results": (await _suggestions(context.desk, [form.text], form.limit, form.threshold))[0]}
    )


@_project.post("/suggest-batch", response_model=list[dict[str, Any]])
async def suggest_batch(
    context: Reader,
    documents: Annotated[list[_Document], Body(embed=True, max_length=32)],
    limit: Annotated[_Limit, Query()] = 10,
    threshold: Annotated[Probability, Query()] = 0.0,
) -> Any:
    """Return subjects for up to 32 texts."""
    found = await _suggestions(context.desk, [one.text for one in documents], limit, threshold)
    pairs = zip(documents, found, strict=True)
    return json_response([{"document_id": one.document_id, "results": results} for one, results in pairs])


@_project.post("/learn", status_code=204, response_class=Response)
async def learn(context: Tagging, body: Annotated[list[_Learned], Field(max_length=1000)]) -> Response:
    """Add texts with their subjects, as items that are done."""
    column = await asyncio.to_thread(context.desk.store.cached_query, text_column)
    names = await asyncio.to_thread(context.desk.store.cached_query, label_names)
    by_uri = {f"{_URI}{number}": name for number, name in names.items()}
    new = []
    for each in body:
        subjects = [by_uri.get(one.uri or "") or one.label or one.uri for one in each.subjects]
        if not all(subjects):
            raise ServerError("A subject needs a label or a uri.")
        new.append(NewItem({column: each.text}, None, [str(one) for one in subjects], True))
    await context.changed(lambda by: add_items(by, new, "user").updated)
    return Response(status_code=204)


async def _suggestions(
    desk: TaggingServer, texts: list[str], limit: int, threshold: float
) -> list[list[dict[str, Any]]]:
    future = desk.predictor.suggest(texts, limit, threshold, bounded=True)
    return [
        [
            {"uri": f"{_URI}{s['number']}", "label": s["label"], "notation": None, "score": s["probability"]}
            for s in suggestions
            if s["probability"] >= threshold
        ]
        for suggestions in (await asyncio.wrap_future(future)).results
    ]


annif_router.include_router(_project)
