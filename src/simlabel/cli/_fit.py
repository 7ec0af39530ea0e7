"""`simlabel fit`: from a labelled file to a model file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from simlabel.cli import _options as options
from simlabel.cli import _table_options as tables
from simlabel.cli._choices import INFLUENCES, LABEL_RULES, NORMALIZERS, SIMILARITIES
from simlabel.cli._console import Terminal, guarded, say, show_json
from simlabel.cli._wording import spelled

_STAGES = "The stages of the model"


def _choice(names: Sequence[str]) -> str:
    return f"One of {', '.join(names)}."


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
            help=f"One or more of {', '.join(NORMALIZERS)}, with commas between; auto; or none.",
            rich_help_panel=_STAGES,
        ),
    ] = None,
    influence: Annotated[str | None, typer.Option(help=_choice(INFLUENCES), rich_help_panel=_STAGES)] = None,
    label_rule: Annotated[
        str | None, typer.Option(help=_choice(LABEL_RULES), rich_help_panel=_STAGES)
    ] = None,
    hierarchy: Annotated[
        str | None,
        typer.Option(
            help="Where labels are paths, what stands between their steps ('::' for mail::imap): rows then "
            "have the labels above theirs, too.",
            rich_help_panel=_STAGES,
        ),
    ] = None,
    seed: options.Seed = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Threads; all cores by default.")] = None,
    text: tables.Text = None,
    category: tables.Category = None,
    number: tables.Number = None,
    multi: tables.Multi = None,
    date: tables.Date = None,
    ignore: tables.Ignore = None,
    id_column: tables.IdColumn = None,
    title_column: tables.TitleColumn = None,
    group_column: tables.GroupColumn = None,
    empty_means_none: tables.EmptyMeansNone = False,
    labels: options.Labels = None,
    label_prefix: options.LabelPrefix = None,
    label_column: options.LabelColumn = None,
    separator: options.Separator = None,
    delimiter: options.Delimiter = None,
    format: options.Format = None,
    encoding: tables.Encoding = None,
    sheet: tables.Sheet = None,
    max_gib: options.MaxGib = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Fit a model on a labelled file and write it to a model file.

    A table (CSV, TSV, JSON, JSON lines, Parquet, xlsx) is read as it is and
    becomes a Tagger, which finds out what its columns hold. Its labels are in
    one column that lists them (--label-column), or in a column of 0 and 1 for
    each (--labels toxic,insult or --label-prefix); an empty cell among these
    is unknown.

    A model on a matrix of features is fitted where a stage is given
    (--similarity, --normalizer, --influence, --auto), from tables of numbers
    with label columns of 0 and 1, and from files that are matrices (ARFF,
    svmlight, XMC, npz, npy).
    """
    from simlabel.cli import _matrix_fit as matrices
    from simlabel.cli._table_fit import TableFit, is_table, needs_tagger

    matrix = {
        "similarity": similarity,
        "normalizer": matrices.normalizer_of(normalizer),
        "influence": influence,
    }
    stages = {name: value for name, value in matrix.items() if value is not None}
    kinds = {
        "text": text,
        "category": category,
        "number": number,
        "multi": multi,
        "date": date,
        "ignore": ignore,
    }
    own = {"id_column": id_column, "title_column": title_column, "group_column": group_column}
    reading = options.Reading(
        labels, label_prefix, label_column, separator, delimiter, None, format, max_gib, encoding, sheet
    )
    if not output.parent.is_dir():
        raise OSError(f"there is no folder {output.parent}; make it first.")
    several = labels is not None or label_prefix is not None
    as_table = (label_column is not None) != several and not (stages or auto) and is_table(data, format)
    if as_table and several:
        raw = any(kinds.values()) or any(own.values()) or empty_means_none
        as_table = raw or needs_tagger(Path(data), reading)
    if as_table:
        if label_rule is not None:
            matrices.check_rule(label_rule)
        chosen = {"label_rule": label_rule, "hierarchy": hierarchy}
        empty = "none" if empty_means_none else "untagged"
        wanted = TableFit(tables.kinds_of(kinds), **own, **chosen, jobs=jobs, seed=seed, empty=empty)
        with Terminal(quiet=json) as console:
            facts = wanted.fit(Path(data), reading, output, console)
    else:
        _refuse_columns(kinds | own | {"empty_means_none": empty_means_none})
        chosen = {"label_rule": label_rule, "hierarchy": hierarchy}
        stages |= {name: value for name, value in chosen.items() if value is not None}
        facts = matrices.fit_matrix(
            matrices.estimator_of(auto, stages, seed, jobs), reading, data, output, json
        )
    if json:
        show_json(facts)
        return
    say(f"wrote {output} ({facts['bytes']:,} bytes, {facts['seconds']:.1f} s)")


def _refuse_columns(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value:
            raise typer.BadParameter(
                f"{spelled(name)} is about a raw table: a CSV, JSON, Parquet or xlsx file with "
                f"--label-column, and without --similarity, --normalizer, --influence and --auto."
            )
