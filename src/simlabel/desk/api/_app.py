"""The application: routes, errors as problem+json, the page."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from prometheus_client import CollectorRegistry, Gauge
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from simlabel import __version__
from simlabel.desk._desk import Desk
from simlabel.desk._problems import DeskError
from simlabel.desk.api import _admin, _annif, _items, _labels, _model, _schemas, _transfer
from simlabel.desk.api._gate import Gate, problem

log = logging.getLogger("simlabel.desk")
_PAGE = Path(__file__).parent.parent / "page"
_GAUGES = {
    "position": "Entries in the journal",
    "model_position": "Entry up to which the model has learnt",
    "rows": "Items that the model has learnt",
    "erasing": "Items whose traces are being erased",
    "learning": "Whether the model is learning",
    "retuning": "Whether the model's values are being chosen anew",
    "read_only": "Whether the store can only be read",
}


def make_app(desk: Desk) -> ASGIApp:
    """The application for an open desk, which it starts and closes."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        desk.start()
        yield
        desk.close()

    app = FastAPI(
        title="simlabel serve",
        version=__version__,
        summary="A tagging desk: items, tags, suggestions and reasons",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
        responses={
            "default": {
                "description": "What went wrong, and what to do",
                "content": {
                    "application/problem+json": {"schema": _schemas.ProblemSchema.model_json_schema()}
                },
            }
        },
    )
    app.state.desk = desk
    app.state.registry = registry = CollectorRegistry()
    app.state.gauges = {
        name: Gauge(f"simlabel_{name}", words, registry=registry) for name, words in _GAUGES.items()
    }
    app.state.gauges["items"] = Gauge("simlabel_items", "Items by status", ["status"], registry=registry)
    for room in (_items, _labels, _model, _transfer, _admin, _annif):
        app.include_router(room.router)
    for kind, handler in _HANDLERS.items():
        app.add_exception_handler(kind, handler)
    app.get("/", include_in_schema=False)(lambda: FileResponse(_PAGE / "index.html"))
    app.mount("/static", StaticFiles(directory=_PAGE), name="static")
    return Gate(app, registry)


def _answer(status: int, title: str, detail: str, headers: Any = None) -> Response:
    return Response(problem(status, title, detail), status, headers, "application/problem+json")


def _desk_error(request: Request, error: Any) -> Response:
    headers = {"www-authenticate": "Bearer"} if error.status == 401 else None
    return _answer(error.status, error.title, str(error), headers)


def _http_error(request: Request, error: Any) -> Response:
    details = {404: "There is nothing at this address.", 405: "This address does not take this method."}
    return _answer(
        error.status_code, str(error.detail), details.get(error.status_code, str(error.detail)), error.headers
    )


def _wrong_input(request: Request, error: Any) -> Response:
    """Where, and what is expected; what was sent is not repeated."""
    said = [f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in error.errors()[:5]]
    return _answer(422, "The request is not as described", "; ".join(said) + ". See /api/openapi.json.")


def _failure(request: Request, error: Exception) -> Response:
    log.error("%s in %s", type(error).__name__, getattr(request.scope.get("route"), "path", "?"))
    return _answer(
        500, "Something is wrong with this server", f"Nothing was changed ({type(error).__name__})."
    )


_HANDLERS: dict[Any, Any] = {
    DeskError: _desk_error,
    HTTPException: _http_error,
    RequestValidationError: _wrong_input,
    Exception: _failure,
}
