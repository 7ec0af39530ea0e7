"""`simlabel evaluate`: a model file on a labelled file."""

from __future__ import annotations

from typing import Annotated

import typer

from simlabel.cli import _guarantees as guarantees
from simlabel.cli import _options as options
from simlabel.cli import _table_options as tables
from simlabel.cli._console import guarded, say
from simlabel.cli._predict import IndexBase, ModelFile


@guarded
def evaluate_verb(
    model: ModelFile,
    data: Annotated[str, typer.Argument(help="A labelled file, or the name of a data set.")],
    criteria: options.Criteria = "usual",
    report: options.Reports = None,
    recall: guarantees.Recall = None,
    precision: guarantees.Precision = None,
    label_coverage: guarantees.LabelCoverage = None,
    set_coverage: guarantees.SetCoverage = None,
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
    """Compare a model's predictions with the true labels of a file.

    Guarantees that are asked for are worked out from the model's own rows, and measured on the file.
    """
    from simlabel.cli._evaluated import evaluated, show_evaluation, unknown_labels
    from simlabel.cli._models import FittedModel
    from simlabel.experiments.reports import check_report_path, evaluation_report, write_report
    from simlabel.metrics import find_criterion
    from simlabel.model.inspection import advise_on_copies

    wanted = guarantees.asked_for(
        recall=recall, precision=precision, label_coverage=label_coverage, set_coverage=set_coverage
    )
    shown = [name for name in options.criteria_of(criteria) if not find_criterion(name).needs_propensities]
    for path in report or ():
        check_report_path(path)
    fitted = FittedModel.open(model)
    reading = options.Reading(
        labels, label_prefix, label_column, separator, delimiter, None, format, max_gib, encoding, sheet
    )
    loaded = fitted.labelled(data, reading, index_base)
    unknown = unknown_labels(fitted, loaded)
    fitted.ask(lambda X: advise_on_copies(*fitted.estimator._check_queries(X)), loaded.X)
    result, joint = evaluated(fitted, loaded)
    kept = guarantees.measured_promises(fitted, wanted, joint)
    for path in report or ():
        write_report(evaluation_report(fitted.estimator, model.name, joint, result, shown, kept), path)
        say(f"wrote {path}")
    show_evaluation(result, joint, shown, unknown, kept, json)
