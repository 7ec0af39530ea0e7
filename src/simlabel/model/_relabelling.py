"""A fitted model whose labels have changed: the rows and every chosen value are held."""

from __future__ import annotations

from dataclasses import replace

import scipy.sparse as sp
from sklearn.base import clone

from simlabel.labels import LabelSpace, UnknownLabels
from simlabel.model._calibrating import learnt_outcomes
from simlabel.model._model import Model


def relabelled(model: Model, space: LabelSpace, Y: sp.csr_array, unknown: UnknownLabels | None) -> Model:
    """The model with other label sets for the same rows.

    Similarity, normalizer and penalty are held, as is the kind of label rule; what rule and calibration
    know of single labels they learn from the leave-one-out scores of the labels as they are now.
    """
    if model.scorer.stages.recorded is not None:
        raise ValueError(
            "Of labels that are recorded by their presence alone, the missing share was found label by "
            "label: fit anew with the labels as they are to be."
        )
    space, Y, unknown = space.nested(Y, unknown)
    scorer = model.scorer.with_labels(model.scorer.references.with_labels(Y, unknown))
    wanted = None if model.calibration is None else clone(model.calibration)
    rule, calibration = learnt_outcomes(clone(model.rule), wanted, scorer, single=space.kind == "single")
    return replace(model, labels=space, scorer=scorer, rule=rule, calibration=calibration)
