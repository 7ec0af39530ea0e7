"""From what `fit` was given to a model: the stages as objects, resolved on the rows, and wired together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from simlabel._utils.advice import advise
from simlabel._utils.rows import is_remote, n_rows
from simlabel._utils.validation import Rows, check_same_length
from simlabel.estimators._checks import (
    checked_table,
    checked_training_rows,
    client_of,
    labels_here,
    on_cluster,
)
from simlabel.estimators._normalizing import choose_normalizer
from simlabel.estimators._online import OnlineMixin
from simlabel.estimators._problem import make_problem
from simlabel.labels import LabelSpace, as_hierarchy, refuse_unknown
from simlabel.model import (
    Batch,
    Model,
    Scorer,
    Wanted,
    drop_weightless,
    learnt_outcomes,
    resolve_ids,
    training_blocks,
)
from simlabel.model.sketches import SketchProblem, fit_sketch, resolve_sketch
from simlabel.normalizers import Normalizer, UnitsWarning, told_units
from simlabel.ridge import INFLUENCES, Problem, Stages
from simlabel.rules import LABEL_RULES
from simlabel.rules.calibration import ABSENCES, CALIBRATIONS
from simlabel.similarities import SIMILARITIES, Function, Similarity
from simlabel.sums import Sampled, draw, resolve_engine, resolve_sampler, resolve_weighting
from simlabel.tables import ENCODERS, Cells, TableEncoder, advise_on_categories, title_column
from simlabel.tuning import TUNERS, advise_on_curve


class LearningMixin(OnlineMixin):
    """Checks rows, labels and stages, and publishes the model that they make."""

    similarity: Any
    normalizer: Any
    weighting: Any
    influence: Any
    sampler: Any
    sketch: Any
    tuning: Any
    n_jobs: int | None
    random_state: Any
    encoder: Any
    hierarchy: Any
    absent: Any
    title_column_: str | None

    def _fit(self, X: Any, y: Any, sample_weight: Any, ids: Any, groups: Any, classes: Any) -> Batch:
        similarity, client = self._resolved_similarity(), client_of(self.engine)
        X = self._checked_training_rows(X, similarity, client)
        space, Y, unknown = LabelSpace.learn_known(labels_here(y, client), as_hierarchy(self.hierarchy))
        check_same_length(n_rows(X), Y, "y")
        names = resolve_ids(ids, n_rows(X), None)
        batch = drop_weightless(X, space, Y, sample_weight, names, groups, unknown)
        if classes is not None:
            batch = batch.relabelled(batch.labels.declared(classes))
        columns = batch.kept if similarity.form == "precomputed" else None
        if columns is not None:
            batch = replace(batch, X=batch.X[:, columns])
        self._learn(batch, columns, similarity)
        return batch

    def _checked_training_rows(self, X: Any, similarity: Similarity, client: Any) -> Rows:
        if self.encoder is None:
            return checked_training_rows(self, X, similarity, client)
        if similarity.form == "precomputed" or isinstance(similarity, Function):
            raise ValueError(f"encoder: {similarity!r} compares no columns; leave out the encoder.")
        cells = checked_table(X)
        self.n_features_in_ = len(cells.names)
        self.feature_names_in_ = np.array(cells.names, dtype=object)
        return cells.rows

    def _learn(
        self,
        batch: Batch,
        columns: npt.NDArray[np.int64] | None,
        similarity: Similarity | None = None,
        encoder: TableEncoder | None = None,
    ) -> None:
        rule, search = LABEL_RULES.resolve(self.label_rule), TUNERS.resolve(self.tuning)
        calibration = self._calibration()
        similarity = self._resolved_similarity() if similarity is None else similarity
        stages = self._stages(batch.X, similarity)
        for stage in (stages.weighting, rule, search, stages.influence, calibration):
            if stage is not None and not isinstance(stage, str):
                stage.check()
        names = getattr(self, "feature_names_in_", None)
        encoder = self._fitted_encoder(batch) if encoder is None else encoder
        spec, told = self.normalizer, ""
        if isinstance(spec, str) and spec == "auto":
            spec, told = choose_normalizer(batch, stages, names, encoder, search)
        normalizer, problem = make_problem(batch, spec, stages, names, encoder)
        self._warn_of_units(batch, normalizer)
        problem, drawing = self._sampled(problem)
        sketch = resolve_sketch(self.sketch, problem.stages.similarity, stages.weighting)
        if stages.influence.learned and (sketch is not None or drawing is not None):
            raise ValueError(
                f"influence={self.influence!r} is solved for all references that are kept: not with a sketch "
                f"or a draw for each query. A sampler that draws at fit will do."
            )
        if sketch is not None:
            refuse_unknown(batch.settled[1], "a sketch is of label sets that are all known")
        best, self.tuning_ = search.run(problem)
        advise_on_curve(self.tuning_)
        if told:
            self.tuning_ = replace(self.tuning_, note="; ".join(filter(None, (told, self.tuning_.note))))
        stages = best.stages if drawing is None else replace(best.stages, engine=drawing)
        scorer = Scorer(stages, best.references, best.solve()).made_ready()
        if self.absent is not None:
            scorer = self._put_right(scorer, batch.labels)
        stages = scorer.stages
        stages.engine.ready(scorer.prepared, [scorer.job])
        rule, curves = learnt_outcomes(rule, calibration, scorer, single=batch.labels.kind == "single")
        if sketch is not None:
            task = SketchProblem(stages, best.references, scorer.prepared, scorer.job)
            scorer = replace(scorer, sketch=fit_sketch(sketch, task))
        self._publish(Model(batch.labels, normalizer, scorer, rule, columns, curves, encoder))

    def _warn_of_units(self, batch: Batch, normalizer: Normalizer | None) -> None:
        """Of columns that no one has brought to one scale: what an object is given for is meant so."""
        by_name = self.normalizer is None or self.normalizer == "l2"
        if not by_name or self.encoder is not None or self._resolved_similarity().form == "precomputed":
            return
        told = told_units(batch.X, normalizer, getattr(self, "feature_names_in_", None))
        if told is not None:
            advise(told, UnitsWarning)

    def _calibration(self) -> Wanted:
        """The stage as an object, or "auto"."""
        given = self.calibration
        if isinstance(given, str) and given == "auto":
            return "auto"
        return None if given is None else CALIBRATIONS.resolve(given)

    def _put_right(self, scorer: Scorer, labels: LabelSpace) -> Scorer:
        """The same where a label that is recorded counts for those that apply and are not."""
        presence = ABSENCES.resolve(self.absent)
        presence.check()
        if labels.kind == "single":
            raise ValueError(f"absent={self.absent!r} is for label sets; y has one class for each row.")
        if self.sketch is not None:
            raise ValueError(f"absent={self.absent!r} cannot be combined with a sketch.")
        if getattr(self.influence, "mixing", False):
            raise ValueError(
                f"absent={self.absent!r} reads learned scores as shares, and Ridge(mixing=True) makes "
                f"log-odds of them. Use Ridge(mixing=False)."
            )
        recorded = presence.recorded(labels.classes, training_blocks(scorer))
        problem = Problem(replace(scorer.stages, recorded=recorded), scorer.references)
        return Scorer(problem.stages, problem.references, problem.solve(), scorer.ready)

    def _fitted_encoder(self, batch: Batch) -> TableEncoder | None:
        if self.encoder is None:
            return None
        cells = Cells(tuple(self.feature_names_in_.tolist()), batch.X)
        encoder = ENCODERS.resolve(self.encoder).fit(cells)
        advise_on_categories(cells, encoder)
        self.title_column_ = title_column(cells, encoder.columns_)
        return encoder

    def _stages(self, X: Rows, similarity: Similarity) -> Stages:
        """The stages of the sums as objects, with what is "auto" still in them."""
        engine = resolve_engine(self.engine)
        if is_remote(X) and not hasattr(engine, "client"):
            engine = on_cluster().DaskEngine(X.client, local=engine)
        return Stages(
            similarity=similarity,
            weighting=resolve_weighting(self.weighting),
            influence=INFLUENCES.resolve(self.influence),
            engine=engine,
            n_jobs=self.n_jobs,
            seed=int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
        )

    def _sampled(self, problem: Problem) -> tuple[Problem, Sampled | None]:
        """The problem on the references that are drawn, and the engine that draws for each query."""
        sampler, stages, references = resolve_sampler(self.sampler), problem.stages, problem.references
        if sampler is None:
            return problem, None
        if stages.similarity.form == "precomputed":
            raise ValueError("sampler: a precomputed matrix has no references to draw; give fit fewer rows.")
        if stages.weighting is not None and stages.weighting.scope == "row":
            raise ValueError(
                f"sampler: {stages.weighting!r} looks at whole rows and is no sum that could be estimated."
            )
        p = sampler.probabilities(references.X, references.settled_Y)
        if sampler.per_query:
            return problem, Sampled(p, sampler.n, stages.seed, order=references.order)
        rows, scales = draw(p, sampler.n, np.random.default_rng(stages.seed), references.order)
        gone = np.setdiff1d(np.arange(references.n_rows), rows)
        references = references.without(gone) if len(gone) else references
        # what is learnt is learnt from the rows that are there
        stages = stages if stages.influence.learned else replace(stages, scales=scales)
        return Problem(stages, references), None

    def _resolved_similarity(self) -> Similarity:
        similarity = SIMILARITIES.resolve(self.similarity)
        similarity.check()
        return similarity
