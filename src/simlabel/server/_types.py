"""Field types with their size limits, and the errors of the tagging server with their HTTP status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

MAX_NAMED = 200  # characters of a label name or an item name
MAX_ROWS = 1000  # in one request

Number = Annotated[int, Field(ge=1, le=2**53)]
Before = Annotated[int, Field(ge=0, le=2**53)]
Limit = Annotated[int, Field(ge=1, le=200)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAMED)]
Filter = Annotated[str, Field(max_length=200)] | None
Text = Annotated[str, Field(max_length=200_000)]
DescriptionText = Annotated[str, Field(max_length=2000)]
Probability = Annotated[float, Field(ge=0, le=1)]
Status = Literal["waiting", "done"]
Role = Literal["reading", "tagging", "administration"]
ROLES: tuple[Role, ...] = get_args(Role)  # in rising order: each role includes those before it

_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Cell = Text | bool | int | _Finite | Annotated[list[Name], Field(max_length=1000)] | None
Content = Annotated[dict[Annotated[str, Field(max_length=200)], _Cell], Field(max_length=200)]
View = dict[str, Any]  # a record as it is sent


class ServerError(ValueError):
    """Base class of the server's errors; `status` and `headers` are those of the HTTP response."""

    status = 400
    headers: Mapping[str, str] = {}

    def __init_subclass__(cls, status: int, **headers: str) -> None:
        cls.status, cls.headers = status, {name.replace("_", "-"): value for name, value in headers.items()}


class Unauthenticated(ServerError, status=401, www_authenticate="Bearer"):
    """The sender of the request is not authenticated."""


class Forbidden(ServerError, status=403):
    """The sender's role does not permit the request."""


class NotFound(ServerError, status=404):
    """The requested object does not exist."""


class Conflict(ServerError, status=409):
    """The request conflicts with the current state of the store."""


class StoreError(ServerError, status=503):
    """The store cannot be opened or read."""


class ReadOnlyError(ServerError, status=503):
    """The store cannot be written to; reading still works."""


class DiskFull(ReadOnlyError, status=507):
    """The disk is full."""


class NotReady(ServerError, status=503, retry_after="5"):
    """The request cannot be answered yet, but can be soon."""


class TooLarge(ServerError, status=413):
    """The request is larger than the server accepts."""


class TooManyRequests(ServerError, status=429, retry_after="1"):
    """One user has sent more requests than the server accepts at once."""
