"""Warnings about labels that are probably misread: constant labels, or several labels in one name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence

import numpy as np

from simlabel._utils.advice import DataWarning, warn_user
from simlabel._utils.text import format_names
from simlabel.labels._forms import Indicator

_ENOUGH = 20  # rows: with fewer, a label may be constant by chance
_SEPARATORS = ("|", ";", ",")
_SEVERAL = 3  # minimum number of names that look like several labels
_BEGINNINGS, _ENDS = "[{'\"#", "]}'\""  # of the remains of lists and quoted strings
_LONG = 60  # characters: longer strings are texts rather than names
_RECUR = 0.8  # minimum share of parts that occur in other names too


def warn_about_labels(names: Sequence[object], Y: Indicator) -> None:
    """Warn about constant labels and about names that look like several labels.

    Parameters
    ----------
    names : sequence, (n_labels,)
    Y : csr_array, (n_rows, n_labels)
    """
    n_rows = Y.shape[0]
    if n_rows >= _ENOUGH:
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        for n, many, when, needed in ((0, "none", "not", "with"), (n_rows, "all", "always", "without")):
            listed = [repr(names[k]) for k in np.flatnonzero(counts == n).tolist()]
            if not listed:
                continue
            which, them = f"label {listed[0]} is", "it"
            if len(listed) > 1:
                which, them = f"labels {format_names(listed)} are", "them"
            warn_user(
                f"{which} in {many} of the {n_rows:,} rows and will {when} be predicted: add rows {needed} "
                f"{them}, or drop {them}.",
                DataWarning,
            )
    found = detect_joined_names([name for name in names if isinstance(name, str)])
    if found is not None:
        separator, name = found
        warn_user(
            f"labels such as {name!r} look like several labels with {separator!r} between them: give label "
            f"sets, or label_separator={separator!r} where a table is read.",
            DataWarning,
        )


def suspicious_name(name: object, names: Container[object] = ()) -> str:
    """Describe what looks wrong about a label name, given all names; return "" if nothing does.

    Examples
    --------
    >>> suspicious_name("['sea'"), suspicious_name("a long text, " * 9), suspicious_name("Toxicity (acute)")
    ("'[' at the beginning", '116 characters', '')
    >>> suspicious_name("sea sun", {"sea", "sun", "sea sun"})
    'each of its words is a label'
    """
    text = str(name).strip()
    if not text:
        return "nothing but spaces"
    if text[0] in _BEGINNINGS:
        return f"{text[0]!r} at the beginning"
    if text[-1] in _ENDS or text.count("(") != text.count(")"):
        return f"{text[-1]!r} at the end" if text[-1] in _ENDS else "a parenthesis without its pair"
    words = text.split()
    if len(words) > 1 and all(word in names for word in words):
        return "each of its words is a label"
    return f"{len(text):,} characters" if len(text) > _LONG else ""


def detect_joined_names(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the separator and one example if names look like several labels in one; else None.

    The parts must recur in other names, so that "Lyon, France" and "Curie, Marie" stay one label each.

    Examples
    --------
    >>> detect_joined_names(["sea, sun", "sea", "sun, trees", "trees, sea"])
    (',', 'sea, sun')
    >>> detect_joined_names(["Lyon, France", "Nice, France", "Rome, Italy"])
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
