"""What earlier formats said, in the words of this one: a step from each format to the next.

Steps work on the JSON of a file's state, before anything is made of it, so that no class has to
remember what it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simlabel.metrics import current_name

State = dict[str, Any]


def migrated(state: State, version: int) -> State:
    """The state of a file of an earlier format as this version would have written it."""
    for step in _STEPS[version - 1 :]:
        state = step(state)
    return state


def _from_1(state: State) -> State:
    """Format 2 keeps the seed of fit, calls F1 by one name, and has neither indices nor projections."""
    for change in (_f1_by_one_name, _no_index, _without_projection):
        state = _replaced(state, change)
    if state.get("params", {}).get("engine") == "ann":
        state = {**state, "params": {**state["params"], "engine": "auto"}}
    return {**state, "model": {"seed": 0, "sketch": None, **state["model"]}}


def _f1_by_one_name(value: State) -> State:
    if value.get("class") not in ("label_rules.PerLabel", "label_rules.Auto"):
        return value
    values = value["values"]
    return {**value, "values": {**values, "criterion": current_name(values["criterion"])}}


def _no_index(value: State) -> State:
    if value.get("class") != "engines.ANN":
        return value
    values = {"memory_mib": value["values"]["memory_mib"], "on_block": None}
    return {**value, "class": "engines.Auto", "values": values}


def _without_projection(value: State) -> State:
    if value.get("class") != "sketching.PrototypeSums":
        return value
    values = dict(value["values"])
    projected = values.pop("projection", None) is not None
    return {**value, "values": values, "class": "sketching.Nystroem" if projected else value["class"]}


def _replaced(value: Any, change: Callable[[State], State]) -> Any:
    """JSON with every stage in it changed."""
    if isinstance(value, list):
        return [_replaced(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    inside = {name: _replaced(item, change) for name, item in value.items()}
    return change(inside) if inside.get("is") == "stage" else inside


def _from_2(state: State) -> State:
    """Format 3 has encoders of tables."""
    return {**state, "model": {"encoder": None, **state["model"]}}


def _from_3(state: State) -> State:
    """Format 4 has labels that are unknown, recorded by their presence alone, or part of others."""
    model = {"recorded": None, **state["model"]}
    chunks = [{"groups": None, "unknown": None, **chunk} for chunk in model.get("chunks", ())]
    labels = {"hierarchy": None, **model.get("labels", {})}
    return {**state, "model": {**model, "chunks": chunks, "labels": labels}}


_STEPS: tuple[Callable[[State], State], ...] = (_from_1, _from_2, _from_3)

#: what this version writes
FORMAT = len(_STEPS) + 1
