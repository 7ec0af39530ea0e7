"""Labels that are likely not what was meant: always or never there, or several in one name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from simlabel._utils.advice import DataWarning, advise
from simlabel._utils.text import some_names
from simlabel.labels._forms import Indicator

_ENOUGH = 20  # rows: among fewer it may be chance that all have a label, or none
_SEPARATORS = ("|", ";", ",")
_SEVERAL = 3  # names that look like several labels
_BEGINNINGS, _ENDS = "[{'\"#", "]}'\""  # of what is left of lists and quoted texts
_LONG = 60  # characters: more are a text rather than a name
_RECUR = 0.8  # of what stands between separators, in other names too


def advise_on_labels(names: Sequence[object], Y: Indicator) -> None:
    """Warn of labels that never or always occur, and of names that look like several labels.

    Parameters
    ----------
    names : sequence, (n_labels,)
    Y : csr_array, (n_rows, n_labels)
    """
    n_rows = Y.shape[0]
    if n_rows >= _ENOUGH:
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        never, always = np.flatnonzero(counts == 0), np.flatnonzero(counts == n_rows)
        if len(never):
            which, them = _labels(names, never)
            advise(
                f"{which} in none of the {n_rows:,} rows and will not be predicted: add rows with {them}, or "
                f"leave {them} out.",
                DataWarning,
            )
        if len(always):
            which, them = _labels(names, always)
            advise(
                f"{which} in all of the {n_rows:,} rows and will always be predicted: add rows without "
                f"{them}, or leave {them} out.",
                DataWarning,
            )
    found = joined_names([name for name in names if isinstance(name, str)])
    if found is not None:
        separator, name = found
        advise(
            f"labels such as {name!r} look like several labels with {separator!r} between them: give label "
            f"sets, or label_separator={separator!r} where a table is read.",
            DataWarning,
        )


def odd_name(name: object) -> str:
    """Say what looks wrong about the name of a label; "" where nothing does.

    Examples
    --------
    >>> odd_name("['sea'"), odd_name("a long text, " * 9), odd_name("Toxicity (acute)")
    ("'[' at the beginning", '116 characters', '')
    """
    text = str(name).strip()
    if not text:
        return "nothing but spaces"
    if text[0] in _BEGINNINGS:
        return f"{text[0]!r} at the beginning"
    if text[-1] in _ENDS or text.count("(") != text.count(")"):
        return f"{text[-1]!r} at the end" if text[-1] in _ENDS else "a parenthesis without its pair"
    return f"{len(text):,} characters" if len(text) > _LONG else ""


def _labels(names: Sequence[object], where: Iterable[int]) -> tuple[str, str]:
    """Some labels as the subject of a sentence, and the word for them in its second half."""
    listed = [repr(names[k]) for k in where]
    if len(listed) == 1:
        return f"label {listed[0]} is", "it"
    return f"labels {some_names(listed)} are", "them"


def joined_names(names: Sequence[str]) -> tuple[str, str] | None:
    """What stands between the labels where names look like several of them, and such a name; else None.

    What is between separators must recur, alone or in other names: places such as "Lyon, France" and persons
    such as "Curie, Marie" are one label each.

    Examples
    --------
    >>> joined_names(["sea, sun", "sea", "sun, trees", "trees, sea"])
    (',', 'sea, sun')
    >>> joined_names(["Lyon, France", "Nice, France", "Rome, Italy"])
    """
    for separator in _SEPARATORS:
        several = [name for name in names if separator in name]
        if len(several) < _SEVERAL:
            continue
        parts = {name: {part.strip() for part in name.split(separator)} for name in names}
        seen = Counter(part for each in parts.values() for part in each)
        inside = [part for name in several for part in parts[name]]
        if sum(seen[part] > 1 for part in inside) >= _RECUR * len(inside):
            return separator, several[0]
    return None
