"""`simlabel teach`: more labelled rows for a model that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from simlabel.cli import _options as options
from simlabel.cli import _table_options as tables
from simlabel.cli._changes import Output, save_changed
from simlabel.cli._console import guarded
from simlabel.cli._predict import IndexBase, ModelFile

if TYPE_CHECKING:
    from simlabel._utils.validation import Rows


@guarded
def teach_verb(
    model: ModelFile,
    data: Annotated[str, typer.Argument(help="A file of labelled rows.")],
    output: Output = None,
    retune: tables.Retune = False,
    id_column: tables.IdColumn = None,
    group_column: tables.GroupColumn = None,
    index_base: IndexBase = None,
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
    """Teach a model more labelled rows, new words and new labels included.

    What was chosen at fit stays. Rows are called by the model's column of ids, or the one that --id names.
    """
    from simlabel.cli._models import FittedModel, partial_sets_of

    fitted = FittedModel.open(model)
    reading = options.Reading(
        labels, label_prefix, label_column, separator, delimiter, None, format, max_gib, encoding, sheet
    )
    loaded = fitted.labelled(data, reading, index_base, id_column or fitted.called["id"])
    own = {"id_column": id_column, "group_column": group_column}
    beside = _beside(loaded.X, own, data)
    sets = fitted.by_name(partial_sets_of(loaded))
    fitted.ask(lambda X: fitted.estimator.partial_fit(X, sets, **beside), loaded.X)
    save_changed(fitted, model, output, retune, json, ("taught", loaded.n_rows))


def _beside(X: Rows, own: dict[str, str | None], source: str) -> dict[str, list[object]]:
    """Ids and groups of the rows, where the user names columns of them."""
    import pandas as pd

    tables.check_columns(X if isinstance(X, pd.DataFrame) else [], own, source)
    named = {"ids": own["id_column"], "groups": own["group_column"]}
    return {what: X[name].tolist() for what, name in named.items() if name is not None}
