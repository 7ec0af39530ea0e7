"""What goes over the wire, described: the OpenAPI document is made from these, and from what changes take."""

from __future__ import annotations

from types import GenericAlias
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from simlabel.server._kinds import MOST_ROWS, Content, Name, Number, Probability, Role, Status


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


_KINDS: dict[Any, str] = {
    int: "erasing id item model_position n_items new number plain_position position revision rows "
    "unchanged updated",
    int | None: "seq total undoes undone_by",
    float: "at contribution probability until usual",
    float | None: "accept_above f1",
    bool: "chosen erased given learning model needs_token read_only retuning revoked started",
    str: "actor column description detail holder kind label name term title token type",
    str | None: "csrf problem",
    dict[str, Any]: "content week",
    dict[str, Any] | None: "now progress",
    list[dict[str, Any]]: "over_time",
    list[int]: "ids",
    list[str]: "shared",
    Role: "role",
    Literal["person", "import", "accepted", "automatic"]: "source",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}


def _answer(title: str, words: str, /, names: str = "", **others: Any) -> Any:
    """A record to answer with: names of fields, which mean the same in all records, and `others`.

    A kind in brackets stands for a list of such.
    """
    kinds = {name: _KIND_OF[name] for name in names.split()} | others
    wanted: dict[str, Any] = {name: (_listed(kind), ...) for name, kind in kinds.items()}
    return create_model(title, __doc__=words, **wanted)


def _listed(kind: Any) -> Any:
    return GenericAlias(list, (_listed(*kind),)) if isinstance(kind, list) else kind


Problem = _answer("Problem", "What went wrong, and what to do.", "type title detail", status=int)
Done = _answer("Done", "The number of the change; null where nothing differed.", "seq")
Made = _answer("Made", "The number of what is new.", "id")
Added = _answer("Added", "Numbers of the items, in order.", "ids updated unchanged position")
_gone = "Whether every trace is gone by now; else what remains until the next model, which is being fitted."
Forgotten = _answer("Forgotten", _gone, "erased", remains=[str])
Retune = _answer("Retune", "Whether it begins now: false where it was under way.", "started")
_Well = Literal["ok", "degraded"]
Health = _answer("Health", "Whether all is well, and what is not.", status=_Well, problems=[str])
_chosen = "A label; chosen where it would be given."
Suggestion = _answer("Suggestion", _chosen, "number label probability chosen")
_learnt = "For each row; the last change that the model has learnt, and the last that counts in plain sums."
Suggestions = _answer("Suggestions", _learnt, "position plain_position", results=[[Suggestion]])
_said = {"state": Literal["present", "rejected"], "probability": float | None}
Tag = _answer(
    "Tag", "A tag, or the rejection of one, and where it came from.", "label source actor at", **_said
)
Lease = _answer("Lease", "Who is at an item, and until when.", "holder until")
_whole = "An item: its content, what is known of its labels, and who changed it last."
_known = {"status": Status, "lease": Lease | None, "tags": [Tag]}
_Item = _answer("Stored", _whole, "id name content title actor at revision", **_known)
Item = create_model("Item", __base__=_Item, suggestions=(_listed([Suggestion]), []))
Items = _answer("Items", "Items.", items=[Item])
Next = _answer("Next", "The item; null where none waits.", item=Item | None)
_often = "A label: how many items have it, and its leave-one-out F1."
Label = _answer("Label", _often, "id name description f1", items=int)
Labels = _answer("Labels", "All labels.", labels=[Label])
_speaks = "A labelled item that speaks for or against a label, and words that both have."
_Evidence = _answer("Evidence", _speaks, "item title contribution shared")
_Word = _answer("Word", "How much a word says.", "column term contribution")
_because = {"items": [_Evidence], "words": [_Word]}
Why = _answer("Why", "Why a label is suggested.", "label probability usual", **_because)
_contradicted = "A tag that is probably wrong (given), or probably missing."
_Doubt = _answer("Doubt", _contradicted, "item title label given probability")
Doubts = _answer("Doubts", "Found at a position.", position=int | None, suspicious=[_Doubt])
Quality = _answer("Quality", "Leave-one-out figures.", "now over_time week")
_entry = "An entry of the journal: ids and names, never content."
_about = {"seq": int, "items": [int], "labels": [str]}
_Entry = _answer("Entry", _entry, "at actor kind undoes undone_by n_items", **_about)
Entries = _answer("Entries", "Changes, the last first.", changes=[_Entry])
_rows_in = "An import: how many rows are in, of how many, what they did, and what could not be read."
_States = Literal["waiting", "done", "failed", "canceled"]
_far = {"done": int, "state": _States, "problems": [dict[str, Any]]}
Job = _answer("Job", _rows_in, "id name actor at new updated unchanged total", **_far)
Jobs = _answer("Jobs", "Imports, the last first.", jobs=[Job])
_Token = _answer("Token", "A token without its secret.", "id name role revoked")
Tokens = _answer("Tokens", "All tokens.", tokens=[_Token])
NewToken = _answer("NewToken", "The secret, which is shown this once.", "id token")
_signed_in = "Who is signed in; csrf goes with every change as the header X-CSRF-Token."
Session = _answer("Session", _signed_in, "name role csrf needs_token")
_how = "How the desk is; a change is in learned influence when model_position has reached its number."
_model = "model model_position rows learning retuning progress problem"
_store = {"items": dict[str, int], "clock_behind": int}
State = _answer("State", _how, f"position {_model} read_only erasing accept_above", **_store)
