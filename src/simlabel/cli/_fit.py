"""`simlabel fit`: from a labelled file to a model file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import joblib
import typer

from simlabel import SMLClassifier
from simlabel.cli import _options as options
from simlabel.cli._console import Terminal, guarded, say, show_json
from simlabel.cli._models import as_fitted
from simlabel.experiments import find_algorithm
from simlabel.influence import INFLUENCES
from simlabel.label_rules import LABEL_RULES
from simlabel.normalization import NORMALIZERS
from simlabel.similarities import SIMILARITIES
from simlabel.support.registry import Registry

_STAGES = "The stages of the model"


def _choice(registry: Registry[Any]) -> str:
    return f"One of {', '.join(registry.names)}."


@guarded
def fit_verb(
    data: Annotated[str, typer.Argument(help="A labelled file, or the name of a data set.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.")],
    auto: Annotated[
        bool, typer.Option("--auto", help="Let it choose all stages by leave-one-out; takes longer.")
    ] = False,
    similarity: Annotated[
        str | None, typer.Option(help=_choice(SIMILARITIES), rich_help_panel=_STAGES)
    ] = None,
    normalizer: Annotated[
        str | None,
        typer.Option(
            help=f"One or more of {', '.join(NORMALIZERS.names)}, with commas between; or none.",
            rich_help_panel=_STAGES,
        ),
    ] = None,
    influence: Annotated[str | None, typer.Option(help=_choice(INFLUENCES), rich_help_panel=_STAGES)] = None,
    label_rule: Annotated[
        str | None, typer.Option(help=_choice(LABEL_RULES), rich_help_panel=_STAGES)
    ] = None,
    seed: options.Seed = 0,
    labels: options.Labels = None,
    label_prefix: options.LabelPrefix = None,
    label_column: options.LabelColumn = None,
    separator: options.Separator = None,
    delimiter: options.Delimiter = None,
    format: options.Format = None,
    max_gib: options.MaxGib = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Fit a model on a labelled file and write it to a model file."""
    stages = {
        "similarity": similarity,
        "normalizer": _normalizer(normalizer),
        "influence": influence,
        "label_rule": label_rule,
    }
    estimator = _estimator(auto, {name: value for name, value in stages.items() if value is not None}, seed)
    reading = options.Reading(labels, label_prefix, label_column, separator, delimiter, None, format, max_gib)
    loaded = reading.load(data)
    if not output.parent.is_dir():
        raise OSError(f"there is no folder {output.parent}; make it first.")
    started = time.perf_counter()
    with Terminal(stderr=True).status(f"fitting on {loaded.n_rows:,} rows"):
        estimator.fit(*as_fitted(loaded))
        estimator = getattr(estimator, "best_estimator_", estimator)  # what --auto has chosen
        estimator.save(output)
    facts: dict[str, Any] = {
        "model": str(output),
        "rows": loaded.n_rows,
        "features": loaded.n_attributes,
        "labels": len(estimator.classes_),
        "similarity": repr(estimator.similarity_),
        "seconds": round(time.perf_counter() - started, 3),
        "bytes": output.stat().st_size,
    }
    if json:
        show_json(facts)
        return
    Terminal().print(f"Fitted on {loaded!r}")
    Terminal().print(f"Similarity: {facts['similarity']}")
    say(f"wrote {output} ({facts['bytes']:,} bytes, {facts['seconds']:.1f} s)")


def _check(registry: Registry[Any], name: str) -> None:
    try:
        registry.resolve(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _normalizer(text: str | None) -> Any:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name != "none":
            _check(NORMALIZERS, name)
    return names if len(names) > 1 else names[0]


def _estimator(auto: bool, stages: dict[str, Any], seed: int) -> Any:
    if auto:
        if stages:
            raise typer.BadParameter(f"--auto chooses the stages; leave out {', '.join(stages)}.")
        return find_algorithm("autosml", seed=seed, n_jobs=joblib.cpu_count()).estimator
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
    return SMLClassifier(**stages, random_state=seed)
