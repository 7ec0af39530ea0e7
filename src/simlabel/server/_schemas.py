"""The request and response models of the API, from which the OpenAPI document is generated."""

from __future__ import annotations

from types import GenericAlias
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from simlabel.server._types import MAX_ROWS, Content, Name, Number, Probability, Role, Status


class Body(BaseModel):
    """A request body; unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")


class NextBody(Body):
    """Items to skip."""

    skip: Annotated[list[Number], Field(max_length=MAX_ROWS)] = []


class SuggestBody(Body):
    """Rows to suggest labels for; they are not stored."""

    rows: Annotated[list[Content], Field(min_length=1, max_length=MAX_ROWS)]
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    threshold: Probability = 0.0


class TokenBody(Body):
    """The user and the role of a new token."""

    name: Name
    role: Role


class SessionBody(Body):
    """The token to sign in with; null if the server needs none."""

    token: Annotated[str, Field(max_length=200)] | None = None


_TYPES: dict[Any, str] = {
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
    Literal["user", "import", "accepted", "automatic"]: "source",
}
_TYPE_OF = {name: type_ for type_, names in _TYPES.items() for name in names.split()}


def _model(title: str, description: str, /, names: str = "", **others: Any) -> Any:
    """Create a response model.

    Parameters
    ----------
    names : str
        Fields whose type is the same in all models (`_TYPES`), separated by spaces.
    others : type
        Further fields. A type in brackets stands for a list of that type.
    """
    types = {name: _TYPE_OF[name] for name in names.split()} | others
    fields: dict[str, Any] = {name: (_expanded(type_), ...) for name, type_ in types.items()}
    return create_model(title, __doc__=description, **fields)


def _expanded(type_: Any) -> Any:
    return GenericAlias(list, (_expanded(*type_),)) if isinstance(type_, list) else type_


ProblemDetails = _model("ProblemDetails", "What is wrong, and what to do.", "type title detail", status=int)
Done = _model("Done", "The number of the change; null if nothing differs.", "seq")
Made = _model("Made", "The id of the new object.", "id")
Added = _model("Added", "The ids of the items, in order.", "ids updated unchanged position")
_forgotten = "Whether all traces are erased; otherwise what remains until the fit that is running has ended."
Forgotten = _model("Forgotten", _forgotten, "erased", remains=[str])
Retune = _model("Retune", "Whether it starts now: false if it is running already.", "started")
_HealthStatus = Literal["ok", "degraded"]
Health = _model("Health", "Whether the server works, and its problems.", status=_HealthStatus, problems=[str])
_suggestion = "A label; chosen if the model predicts it."
Suggestion = _model("Suggestion", _suggestion, "number label probability chosen")
_suggestions = (
    "One list for each row; the last change that the model was trained on, and the last one that is "
    "included by pending updates."
)
Suggestions = _model("Suggestions", _suggestions, "position plain_position", results=[[Suggestion]])
_tag_fields = {"state": Literal["present", "rejected"], "probability": float | None}
Tag = _model("Tag", "A given or rejected tag, and its source.", "label source actor at", **_tag_fields)
Lease = _model("Lease", "Who is editing an item, and until when at most.", "holder until")
_stored = "An item with its content, its tags, and the author of its last change."
_item_fields = {"status": Status, "lease": Lease | None, "tags": [Tag]}
_Item = _model("Stored", _stored, "id name content title actor at revision", **_item_fields)
Item = create_model("Item", __base__=_Item, suggestions=(_expanded([Suggestion]), []))
Items = _model("Items", "Items.", items=[Item])
Next = _model("Next", "The item; null if none is waiting.", item=Item | None)
_label = "A label with the number of its items and its leave-one-out F1."
Label = _model("Label", _label, "id name description f1", items=int)
Labels = _model("Labels", "All labels.", labels=[Label])
_evidence = "A labeled item that counts for or against a label, and the words that both have."
_Evidence = _model("Evidence", _evidence, "item title contribution shared")
_Word = _model("Word", "The contribution of a word.", "column term contribution")
_reasons = {"items": [_Evidence], "words": [_Word]}
Why = _model("Why", "The reasons for or against a label.", "label probability usual", **_reasons)
_doubt = "A tag that is probably wrong (given) or probably missing."
_Doubt = _model("Doubt", _doubt, "item title label given probability")
Doubts = _model("Doubts", "Doubtful tags at a position.", position=int | None, suspicious=[_Doubt])
Quality = _model("Quality", "Leave-one-out metrics.", "now over_time week")
_entry = "A journal entry: ids and names, never content."
_entry_fields = {"seq": int, "items": [int], "labels": [str]}
_Entry = _model("Entry", _entry, "at actor kind undoes undone_by n_items", **_entry_fields)
Entries = _model("Entries", "Changes, the newest first.", changes=[_Entry])
_job = "An import: the number of rows that are stored and in total, their results, and the problems."
_JobState = Literal["waiting", "done", "failed", "canceled"]
_job_fields = {"done": int, "state": _JobState, "problems": [dict[str, Any]]}
ImportJob = _model("ImportJob", _job, "id name actor at new updated unchanged total", **_job_fields)
Jobs = _model("Jobs", "Imports, the newest first.", jobs=[ImportJob])
_Token = _model("Token", "A token without its secret.", "id name role revoked")
Tokens = _model("Tokens", "All tokens.", tokens=[_Token])
NewToken = _model("NewToken", "The secret, which is shown only once.", "id token")
_session = "The signed-in user; changes need csrf as the header X-CSRF-Token."
Session = _model("Session", _session, "name role csrf needs_token")
_state = "The state of the server; a change is trained once model_position has reached its number."
_state_names = "model model_position rows learning retuning progress problem"
_store = {"items": dict[str, int], "clock_behind": int}
State = _model("State", _state, f"position {_state_names} read_only erasing accept_above", **_store)
