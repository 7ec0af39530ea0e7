"""The application: routes, errors as problem+json, the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from prometheus_client import CollectorRegistry
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from simlabel import __version__
from simlabel.server._desk import Desk
from simlabel.server._problems import DeskError
from simlabel.server.api import _annif, _desk, _schemas, _table
from simlabel.server.api._gate import Gate, log, problem

_PAGE = Path(__file__).parent.parent / "page"
_PROBLEM = {"application/problem+json": {"schema": _schemas.Problem.model_json_schema()}}
_ADDRESSES = {404: "There is nothing at this address.", 405: "This address does not take this method."}


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
        responses={"default": {"description": "What went wrong, and what to do", "content": _PROBLEM}},
    )
    app.state.desk = desk
    app.state.registry = CollectorRegistry()
    for room in (_desk, _annif, _table):  # addresses are looked for in this order: suggest comes first
        app.include_router(room.router)
    for kind in (DeskError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _told)
    app.get("/", include_in_schema=False)(lambda: FileResponse(_PAGE / "index.html"))
    app.mount("/static", StaticFiles(directory=_PAGE), name="static")
    return Gate(app, desk, app.state.registry)


def _told(request: Request, error: Any) -> Response:
    """An error as an answer; what was sent is not repeated in it."""
    if isinstance(error, DeskError):
        return problem(error.status, str(error), error.headers)
    if isinstance(error, HTTPException):
        detail = _ADDRESSES.get(error.status_code, str(error.detail))
        return problem(error.status_code, detail, dict(error.headers or {}))
    if isinstance(error, RequestValidationError):
        said = [
            f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in error.errors()[:5]
        ]
        return problem(422, "; ".join(said) + ". See /api/openapi.json.")
    log.error("%s in %s", type(error).__name__, getattr(request.scope.get("route"), "path", "?"))
    return problem(500, f"Something is wrong with this server; nothing was changed ({type(error).__name__}).")
