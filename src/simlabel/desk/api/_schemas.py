"""What goes over the wire, described: the OpenAPI document is made from these, and from what changes take."""

from __future__ import annotations

from types import GenericAlias
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from simlabel.desk._kinds import MOST_ROWS, Content, Name, Number, Probability, Role, Status


class Body(BaseModel):
    """What is sent: a field that nobody knows is a mistake."""

    model_config = ConfigDict(extra="forbid")


class NextBody(Body):
    """Items that are not wanted now."""

    skip: Annotated[list[Number], Field(max_length=MOST_ROWS)] = []


class SuggestBody(Body):
    """Rows to suggest labels for; nothing of them is stored."""

    rows: Annotated[list[Content], Field(min_length=1, max_length=MOST_ROWS)]
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    threshold: Probability = 0.0


class TokenBody(Body):
    """Whom a token is for, and what it allows."""

    name: Name
    role: Role


class SessionBody(Body):
    """A token to sign in with; none where the desk needs none."""

    token: Annotated[str, Field(max_length=200)] | None = None


def _answer(title: str, words: str, /, fields: dict[Any, str]) -> Any:
    """A record to answer with: names of fields by their kind."""
    wanted: dict[str, Any] = {name: (kind, ...) for kind, names in fields.items() for name in names.split()}
    return create_model(title, __doc__=words, **wanted)


def _many(kind: Any) -> Any:
    return GenericAlias(list, kind)


_Number, _Real, _Object = int | None, float | None, dict[str, Any]
_Origin = Literal["person", "import", "accepted", "automatic"]
_Job = Literal["waiting", "done", "failed"]

Problem = _answer("Problem", "What went wrong, and what to do.", {str: "type title detail", int: "status"})
Done = _answer("Done", "The number of the change; null where nothing differed.", {_Number: "seq"})
Made = _answer("Made", "The number of what is new.", {int: "id"})
Added = _answer("Added", "Numbers of the items, in order.", {_many(int): "ids", int: "updated position"})
Forgotten = _answer("Forgotten", "Whether every trace is gone by now.", {bool: "erased"})
Retune = _answer("Retune", "Whether it begins now: false where it was under way.", {bool: "started"})
Health = _answer(
    "Health",
    "Whether all is well, and what is not.",
    {_many(str): "problems", Literal["ok", "degraded"]: "status"},
)
Suggestion = _answer(
    "Suggestion",
    "A label; chosen where it would be given.",
    {int: "number", str: "label", float: "probability", bool: "chosen"},
)
Suggestions = _answer(
    "Suggestions",
    "For each row; the last change that the model has learnt, and the last that counts in plain sums.",
    {int: "position plain_position", _many(_many(Suggestion)): "results"},
)
Tag = _answer(
    "Tag",
    "A tag, or the rejection of one, and where it came from.",
    {
        str: "label actor",
        Literal["present", "rejected"]: "state",
        _Origin: "source",
        float: "at",
        _Real: "probability",
    },
)
Lease = _answer("Lease", "Who is at an item, and until when.", {str: "holder", float: "until"})
_Item = _answer(
    "Stored",
    "An item: its content, what is known of its labels, and who changed it last.",
    {int: "id revision", str: "name title actor", float: "at", Status: "status"}
    | {_Object: "content", Lease | None: "lease", _many(Tag): "tags"},
)
Item = create_model("Item", __base__=_Item, suggestions=(_many(Suggestion), []))
Items = _answer("Items", "Items.", {_many(Item): "items"})
Next = _answer("Next", "The item; null where none waits.", {Item | None: "item"})
Label = _answer(
    "Label",
    "A label: how many items have it, and its leave-one-out F1.",
    {int: "id items", str: "name description", _Real: "f1"},
)
Labels = _answer("Labels", "All labels.", {_many(Label): "labels"})
_Evidence = _answer(
    "Evidence",
    "A labelled item that speaks for or against a label, and words that both have.",
    {int: "item", str: "title", float: "contribution", _many(str): "shared"},
)
_Word = _answer("Word", "How much a word says.", {str: "column term", float: "contribution"})
Why = _answer(
    "Why",
    "Why a label is suggested.",
    {str: "label", float: "probability usual", _many(_Evidence): "items", _many(_Word): "words"},
)
_Doubt = _answer(
    "Doubt",
    "A tag that is probably wrong (given), or probably missing.",
    {int: "item", str: "title label", bool: "given", float: "probability"},
)
Doubts = _answer("Doubts", "Found at a position.", {_Number: "position", _many(_Doubt): "suspicious"})
Quality = _answer(
    "Quality", "Leave-one-out figures.", {_Object | None: "now", _many(_Object): "over_time", _Object: "week"}
)
_Entry = _answer(
    "Entry",
    "An entry of the journal: ids and names, never content.",
    {int: "seq n_items", float: "at", str: "actor kind", _Number: "undoes undone_by"}
    | {_many(int): "items", _many(str): "labels"},
)
Entries = _answer("Entries", "Changes, the last first.", {_many(_Entry): "changes"})
Job = _answer(
    "Job",
    "An import: how many rows are in, of how many, and what could not be read.",
    {int: "id done updated", _Job: "state", str: "actor name", float: "at", _Number: "total"}
    | {_many(_Object): "problems"},
)
Jobs = _answer("Jobs", "Imports, the last first.", {_many(Job): "jobs"})
_Token = _answer(
    "Token", "A token without its secret.", {int: "id", str: "name", Role: "role", bool: "revoked"}
)
Tokens = _answer("Tokens", "All tokens.", {_many(_Token): "tokens"})
NewToken = _answer("NewToken", "The secret, which is shown this once.", {int: "id", str: "token"})
Session = _answer(
    "Session",
    "Who is signed in; csrf goes with every change as the header X-CSRF-Token.",
    {str: "name", Role: "role", str | None: "csrf", bool: "needs_token"},
)
State = _answer(
    "State",
    "How the desk is; a change is in learned influence when model_position has reached its number.",
    {dict[str, int]: "items", int: "position model_position rows clock_behind erasing"}
    | {bool: "model learning retuning read_only", _Object | None: "progress", str | None: "problem"}
    | {_Real: "accept_above"},
)
