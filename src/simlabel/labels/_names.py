"""What labels are called: found in the rows, and put in order."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Any

from simlabel._utils.validation import object_array
from simlabel.labels._forms import Names, check_names_known, named_in


def names_of(rows: Sequence[Any]) -> Names:
    """The labels that label sets hold, all of them known."""
    try:
        names = dict.fromkeys(chain.from_iterable(map(named_in, rows)))
    except TypeError:
        bad = next(i for i, row in enumerate(rows) if not _is_set(row))
        raise ValueError(
            f"y must hold sets of labels, which are numbers, strings or other hashable names; row {bad} is "
            f"{rows[bad]!r}."
        ) from None
    check_names_known(names, rows)
    return sorted_names(names)


def _is_set(row: Any) -> bool:
    """Whether labels can be members of a set; a tuple may hold a list, so their types do not say."""
    try:
        return len(set(row)) >= 0
    except TypeError:
        return False


def sorted_names(labels: Iterable[Hashable]) -> Names:
    """Each once, in order."""
    seen = list(dict.fromkeys(labels))
    with contextlib.suppress(TypeError):  # names that do not compare stay in the order in which they came
        seen = sorted(seen)  # type: ignore[type-var]
    return name_array(seen)


def name_array(names: Iterable[Hashable]) -> Names:
    """Names of any type as objects."""
    return object_array(list(names))


def sort_of(classes: Names) -> str:
    """What kind of names these are: only names of one kind are put in one order."""
    return {"U": "text", "S": "bytes", "O": "objects"}.get(classes.dtype.kind, "numbers")
