"""What goes over the wire, described: the OpenAPI document is made from these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field, create_model

MOST_ROWS = 1000  # in one request
Number = Annotated[int, Field(ge=1, le=2**53)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=200_000)]
Described = Annotated[str, Field(max_length=2000)]
Probability = Annotated[float, Field(ge=0, le=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Cell = Text | bool | int | Finite | Annotated[list[Name], Field(max_length=1000)] | None
Content = Annotated[dict[Annotated[str, Field(max_length=200)], Cell], Field(max_length=200)]
Status = Literal["waiting", "done"]
Role = Literal["reading", "tagging", "administration"]
InPath = Annotated[int, Path(ge=1, le=2**53)]
Limit = Annotated[int, Query(ge=1, le=200)]
Asked = Annotated[str | None, Query(max_length=200)]


class Body(BaseModel):
    """What is sent: a field that nobody knows is a mistake."""

    model_config = ConfigDict(extra="forbid")


class ContentBody(Body):
    """Other content for an item."""

    content: Content


class ItemBody(ContentBody):
    """An item to add; one whose name is known is updated."""

    name: Name | None = None
    tags: Annotated[list[Name], Field(max_length=200)] = []
    done: bool = False


class ItemsBody(Body):
    """Items to add."""

    items: Annotated[list[ItemBody], Field(min_length=1, max_length=MOST_ROWS)]


class LabelNameBody(Body):
    """A label by its name."""

    label: Name


class TagBody(LabelNameBody):
    """A label for an item; `probability` where a suggestion was accepted."""

    probability: Probability | None = None


class LabelBody(Body):
    """A new label."""

    name: Name
    description: Described = ""


class LabelChangeBody(Body):
    """Another name or description."""

    name: Name | None = None
    description: Described | None = None


class MergeBody(Body):
    """The number of the label that stays."""

    into: Number


class NextBody(Body):
    """Items that are not wanted now."""

    skip: Annotated[list[Number], Field(max_length=MOST_ROWS)] = []


class SuggestBody(Body):
    """Rows to suggest labels for; nothing of them is stored."""

    rows: Annotated[list[Content], Field(min_length=1, max_length=MOST_ROWS)]
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    threshold: Probability = 0.0


class SessionBody(Body):
    """A token to sign in with; none where the desk needs none."""

    token: Annotated[str, Field(max_length=200)] | None = None


class TokenBody(Body):
    """Whom a token is for, and what it allows."""

    name: Name
    role: Role


class ProblemSchema(BaseModel):
    """What went wrong, and what to do (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


class SuggestionSchema(BaseModel):
    """A label that is suggested; `chosen` where it would be given."""

    label: str
    probability: float
    chosen: bool


class TagSchema(BaseModel):
    """A tag, or the rejection of one, and where it came from."""

    label: str
    state: Literal["present", "rejected"]
    source: Literal["person", "import", "accepted", "automatic"]
    actor: str
    at: float
    probability: float | None


class LeaseSchema(BaseModel):
    """Who is at an item, and until when."""

    holder: str
    until: float


class ItemSchema(BaseModel):
    """An item."""

    id: int
    name: str
    title: str
    content: dict[str, Any]
    status: Status
    actor: str
    at: float
    revision: int
    lease: LeaseSchema | None
    tags: list[TagSchema]
    suggestions: list[SuggestionSchema] = []


class LabelSchema(BaseModel):
    """A label: how many items have it, and its leave-one-out F1."""

    id: int
    name: str
    description: str
    items: int
    f1: float | None


class EvidenceSchema(BaseModel):
    """A labelled item that speaks for or against a label, and the words that both have."""

    item: int
    title: str
    contribution: float
    shared: list[str]


class WordSchema(BaseModel):
    """A word of the item, and how much it speaks for or against a label."""

    column: str
    term: str
    contribution: float


class WhySchema(BaseModel):
    """Why a label is suggested."""

    label: str
    probability: float
    usual: float
    items: list[EvidenceSchema]
    words: list[WordSchema]


class DoubtSchema(BaseModel):
    """A tag that is probably wrong (given), or probably missing (not given)."""

    item: int
    title: str
    label: str
    given: bool
    probability: float


class EntrySchema(BaseModel):
    """An entry of the journal: ids and names, never content."""

    seq: int
    at: float
    actor: str
    kind: str
    undoes: int | None
    undone_by: int | None
    items: list[int]
    labels: list[str]
    n_items: int


class JobSchema(BaseModel):
    """An import: how many rows are in, of how many, and what could not be read."""

    id: int
    state: Literal["waiting", "done", "failed"]
    actor: str
    at: float
    name: str
    done: int
    total: int | None
    updated: int
    problems: list[dict[str, Any]]


class TokenSchema(BaseModel):
    """A token without its secret."""

    id: int
    name: str
    role: Role
    revoked: bool


class SessionSchema(BaseModel):
    """Who is signed in; `csrf` goes with every change as the header X-CSRF-Token."""

    name: str
    role: Role
    csrf: str | None
    needs_token: bool


class StatusSchema(BaseModel):
    """How the desk is; a change is in learned influence when model_position has reached its number."""

    items: dict[str, int]
    position: int
    model_position: int
    model: bool
    rows: int
    learning: bool
    retuning: bool
    progress: dict[str, int | str | None] | None
    problem: str | None
    read_only: bool
    clock_behind: int
    erasing: int
    accept_above: float | None


def _answer(title: str, /, **fields: Any) -> Any:
    wanted: dict[str, Any] = {name: (kind, ...) for name, kind in fields.items()}
    return create_model(title, **wanted)


Done = _answer("Done", seq=int | None)  # the number of the change; None where nothing differed
Added = _answer("Added", ids=list[int], updated=int, position=int)
Made = _answer("Made", id=int)
Suggestions = _answer("Suggestions", position=int, plain_position=int, results=list[list[SuggestionSchema]])
Items = _answer("Items", items=list[ItemSchema])
Next = _answer("Next", item=ItemSchema | None)
Forgotten = _answer("Forgotten", erased=bool)
Labels = _answer("Labels", labels=list[LabelSchema])
Doubts = _answer("Doubts", position=int | None, suspicious=list[DoubtSchema])
Quality = _answer("Quality", now=dict[str, Any] | None, over_time=list[dict[str, Any]], week=dict[str, Any])
Entries = _answer("Entries", changes=list[EntrySchema])
Jobs = _answer("Jobs", jobs=list[JobSchema])
Tokens = _answer("Tokens", tokens=list[TokenSchema])
NewToken = _answer("NewToken", id=int, token=str)
Retune = _answer("Retune", started=bool)
Health = _answer("Health", status=Literal["ok", "degraded"], problems=list[str])
