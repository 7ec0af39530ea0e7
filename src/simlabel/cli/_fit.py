"""The command `fit`: from a labeled file to a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from simlabel.cli import _options as options
from simlabel.cli._console import command, say, show_json

# names are written out so that --help needs no import of the packages that define them;
# tests/cli/test_imports.py compares both
SimilarityName = Literal[
    "rbf",
    "laplacian",
    "polynomial",
    "linear",
    "quadratic",
    "cosine",
    "chi_square",
    "jaccard",
    "precomputed",
]
InfluenceName = Literal["uniform", "label_mean", "ridge"]
LabelRuleName = Literal["set_size", "threshold", "fixed_size", "cutoff", "per_label", "aimed", "auto"]
NORMALIZER_NAMES = ("l2", "zscore", "minmax", "quantile", "relevance")


def _stage(help: str) -> Any:
    return typer.Option(help=help, rich_help_panel="Stages of the model")


@command
def fit_command(
    data: options.LabeledDataArgument,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.")],
    auto: Annotated[
        bool, typer.Option("--auto", help="Select all stages by leave-one-out scores; takes longer.")
    ] = False,
    similarity: Annotated[SimilarityName | None, _stage("Similarity of two rows.")] = None,
    normalizer: Annotated[
        str | None,
        _stage(f"One or more of {', '.join(NORMALIZER_NAMES)}, separated by commas; auto; or none."),
    ] = None,
    influence: Annotated[InfluenceName | None, _stage("Weights of the labeled rows in the scores.")] = None,
    label_rule: Annotated[LabelRuleName | None, _stage("Rule that turns scores into a label set.")] = None,
    hierarchy: Annotated[
        str | None,
        _stage(
            "Separator of the levels if labels are paths ('::' for mail::imap): rows then also have the "
            "parents of their labels."
        ),
    ] = None,
    seed: options.Seed = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of threads; all cores by default.")] = None,
    columns: options.ColumnOptions,
    reading: options.LabeledReading,
    json: options.Json = False,
) -> None:
    """Fit a model on a labeled file and write it to a model file.

    Raw tables (CSV, TSV, JSON, JSON lines, Parquet, xlsx) are fitted with a
    Tagger, which detects the type of each column. The labels are in one column
    that lists them (--label-column), or in one column of 0 and 1 per label
    (--labels toxic,insult or --label-prefix); an empty cell in such a column
    means unknown.

    A model on a feature matrix is fitted if a stage is given (--similarity,
    --normalizer, --influence, --auto), and for numeric tables with label
    columns of 0 and 1 and matrix files (ARFF, svmlight, XMC, npz, npy).
    """
    from simlabel.cli import _fitting as fitting

    normalizers = _parse_normalizers(normalizer)
    stages = _given(similarity=similarity, normalizer=normalizers, influence=influence)
    rules = _given(label_rule=label_rule, hierarchy=hierarchy)
    if not output.parent.is_dir():
        raise OSError(f"there is no folder {output.parent}; create it first.")
    if not (stages or auto) and fitting.is_raw_table(data, reading, columns):
        facts = fitting.fit_table(Path(data), columns, reading, output, json, rules, jobs, seed)
    else:
        if columns.given:
            raise typer.BadParameter(
                f"{columns.given[0]} is about a raw table: a CSV, JSON, Parquet or xlsx file with "
                f"--label-column, and without --similarity, --normalizer, --influence and --auto."
            )
        facts = fitting.fit_matrix(data, auto, stages | rules, reading, output, json, jobs, seed)
    if json:
        show_json(facts)
    else:
        say(f"wrote {output} ({facts['bytes']:,} bytes, {facts['seconds']:.1f} s)")


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _parse_normalizers(text: str | None) -> Any:
    if text is None:
        return None
    if text in ("auto", "none"):
        return text
    names = options.split_option(text)
    for name in names:
        if name not in NORMALIZER_NAMES:
            raise typer.BadParameter(
                f"--normalizer: unknown normalizer {name!r}; expected {', '.join(NORMALIZER_NAMES)}."
            )
    return names[0] if len(names) == 1 else names
