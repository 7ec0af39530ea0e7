"""What comes from outside, and what it is held to before anything is done with it."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

MOST_NAMED = 200  # characters of a label or an item's name
MOST_ROWS = 1000  # in one request

Number = Annotated[int, Field(ge=1, le=2**53)]
Before = Annotated[int, Field(ge=0, le=2**53)]
Limit = Annotated[int, Field(ge=1, le=200)]
Name = Annotated[str, Field(min_length=1, max_length=MOST_NAMED)]
Asked = Annotated[str, Field(max_length=200)] | None
Text = Annotated[str, Field(max_length=200_000)]
Described = Annotated[str, Field(max_length=2000)]
Probability = Annotated[float, Field(ge=0, le=1)]
Status = Literal["waiting", "done"]
Role = Literal["reading", "tagging", "administration"]
ROLES: tuple[Role, ...] = get_args(Role)  # each may do what those before it may

_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Cell = Text | bool | int | _Finite | Annotated[list[Name], Field(max_length=1000)] | None
Content = Annotated[dict[Annotated[str, Field(max_length=200)], _Cell], Field(max_length=200)]
