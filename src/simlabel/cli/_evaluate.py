"""The command `evaluate`: a model file on a labeled file."""

from __future__ import annotations

from simlabel.cli import _options as options
from simlabel.cli._console import command


@command
def evaluate_command(
    model: options.ModelArgument,
    data: options.LabeledDataArgument,
    *,
    criteria: options.Criteria = "usual",
    reports: options.Reports,
    levels: options.Levels,
    index_base: options.IndexBase = None,
    reading: options.LabeledReading,
    json: options.Json = False,
) -> None:
    """Compare the predictions of a model with the true labels of a file.

    Requested guarantees are computed from the rows of the model and measured on the file.
    """
    from simlabel.cli import _evaluation as evaluation
    from simlabel.cli._models import FittedModel
    from simlabel.experiments.reports import evaluation_report
    from simlabel.metrics import find_criterion
    from simlabel.model.inspection import warn_about_duplicates

    guarantees = levels.guarantees()
    names = options.parse_criteria(criteria)
    shown = [name for name in names if not find_criterion(name).needs_propensities]
    fitted = FittedModel.open(model)
    loaded = fitted.labeled(data, reading, index_base)
    unknown = evaluation.unknown_labels(fitted, loaded)
    fitted.call(lambda X: warn_about_duplicates(*fitted.estimator._check_queries(X)), loaded.X)
    result, joint = evaluation.evaluate_model(fitted, loaded)
    measured = evaluation.measure_guarantees(fitted, guarantees, joint)
    reports.write_reports(
        lambda: evaluation_report(fitted.estimator, model.name, joint, result, shown, measured)
    )
    if json:
        evaluation.show_as_json(result, joint, shown, unknown, measured)
    else:
        evaluation.show_as_tables(result, joint, shown, measured)
