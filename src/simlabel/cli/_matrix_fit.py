"""`simlabel fit` on a matrix of features, into an SMLClassifier or an AutoSMLClassifier."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import joblib
import typer

from simlabel import SMLClassifier
from simlabel._utils.registry import Registry
from simlabel.cli._console import Terminal
from simlabel.cli._models import as_fitted
from simlabel.cli._options import Reading
from simlabel.cli._table_fit import label_facts, show_labels
from simlabel.cli._wording import spelled
from simlabel.experiments import find_algorithm
from simlabel.labels import advise_on_labels
from simlabel.normalizers import NORMALIZERS
from simlabel.ridge import INFLUENCES
from simlabel.rules import LABEL_RULES
from simlabel.similarities import SIMILARITIES


def fit_matrix(estimator: Any, reading: Reading, data: str, output: Path, json: bool) -> dict[str, Any]:
    """Fit an estimator on a labelled file, save it, and give the facts."""
    loaded = reading.load(data)
    advise_on_labels(loaded.label_names, loaded.Y)  # label sets do not know of those that no row has
    started = time.perf_counter()
    with Terminal(stderr=True).status(f"fitting on {loaded.n_rows:,} rows"):
        estimator.fit(*as_fitted(loaded))
        if reading.label_column is not None:
            estimator.label_column_ = reading.label_column
        estimator.save(output)
    facts: dict[str, Any] = {
        "model": str(output),
        "rows": loaded.n_rows,
        "features": loaded.n_attributes,
        "labels": len(estimator.classes_),
        **label_facts(dict(estimator.describe().tables)["Labels"]),
        "similarity": repr(estimator.similarity_),
        "seconds": round(time.perf_counter() - started, 3),
        "bytes": output.stat().st_size,
    }
    if not json:
        Terminal().print(f"Fitted on {loaded!r}")
        show_labels(Terminal(), facts)
        Terminal().print(f"Similarity: {facts['similarity']}")
    return facts


def check_rule(name: str) -> None:
    """A label rule that there is; another is misuse."""
    _check(LABEL_RULES, name)


def _check(registry: Registry[Any], name: str) -> None:
    try:
        registry.resolve(name)
    except ValueError as error:
        text = str(error).partition(f", a {registry.base.__name__} object")[0]  # which a shell has none of
        raise typer.BadParameter(f"{spelled(registry.kind)}: {text}.") from None


def normalizer_of(text: str | None) -> Any:
    """Names of normalizers with commas between, checked."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in ("none", "auto") or (name == "auto" and len(names) > 1):
            _check(NORMALIZERS, name)
    return names if len(names) > 1 else names[0]


def estimator_of(auto: bool, stages: dict[str, Any], seed: int, jobs: int | None) -> Any:
    """An estimator with these stages, whose names are checked, or one that chooses them."""
    if auto:
        if stages:
            raise typer.BadParameter(
                f"--auto chooses the stages; leave out {', '.join(map(spelled, stages))}."
            )
        return find_algorithm("autosml", seed=seed, n_jobs=jobs or joblib.cpu_count()).estimator
    registries: dict[str, Registry[Any]] = {
        "similarity": SIMILARITIES,
        "influence": INFLUENCES,
        "label_rule": LABEL_RULES,
    }
    for name, registry in registries.items():
        if name in stages:
            _check(registry, stages[name])
    if stages.get("normalizer") == "none":
        stages["normalizer"] = None
    return SMLClassifier(**stages, n_jobs=jobs, random_state=seed)
