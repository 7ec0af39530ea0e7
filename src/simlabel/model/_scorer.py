"""Compute the scores that a label rule sees from sums over references."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import Stack, blocks, is_lazy, n_rows, pieces, take_rows
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.labels import refuse_unknown
from simlabel.model.sketches import FeatureSums, FittedSketch, cheaper_alternatives
from simlabel.ridge import Change, KnownSums, Problem, RemainingRows, Solved, Stages, never_negative
from simlabel.rules import ScoreBlock
from simlabel.sums import (
    Auto,
    Engine,
    Exact,
    Exclude,
    Job,
    Plan,
    Prepared,
    ReduceCall,
    References,
    prepare,
    reducer_for,
)

Influences: TypeAlias = FloatArray | sp.csr_array | Stack


@dataclass(frozen=True)
class Scorer:
    """Everything that a score depends on, with all values resolved.

    Attributes
    ----------
    stages : Stages
    references : References
    solution : Solved or None
        The influence of the references; None to compute it when it is needed, as after loading.
    prepared_references : Prepared or None
        The precomputed references of the sums; None to compute them when they are needed.
    sketch : FittedSketch or None
        Sketch that replaces the sums.
    """

    stages: Stages
    references: References
    solution: Solved | None = None
    prepared_references: Prepared | None = None
    sketch: FittedSketch | None = None

    @property
    def problem(self) -> Problem:
        """The stages and references that the influence is computed from."""
        return Problem(self.stages, self.references)

    @cached_property
    def solved(self) -> Solved:
        """The influence of the references."""
        return self.problem.solve() if self.solution is None else self.solution

    @cached_property
    def prepared(self) -> Prepared:
        """The references of the sums, precomputed."""
        return self._prepared() if self.prepared_references is None else self.prepared_references

    def _prepared(self, known: Prepared | None = None) -> Prepared:
        X, used = self.references.X, self.solved.used
        X = X if used is None else take_rows(X, used)
        return prepare(X, [self.stages.similarity], keep_views=True, known=known)

    def with_prepared_references(self) -> Scorer:
        """Return a copy with the references precomputed now, so that errors in rows are raised here."""
        return replace(self, prepared_references=self.prepared)

    @property
    def V(self) -> Influences:
        """Influence of the used references."""
        return self.solved.influence

    @cached_property
    def loo_scores(self) -> FloatArray | None:
        """Leave-one-out scores of all references in closed form; None if they are computed by masking."""
        return self.stages.influence.loo_scores(self.solved, self.problem)

    @cached_property
    def multiplicity(self) -> FloatArray:
        """Number of rows that each reference counts for: its weight, times its sampling scale."""
        return self.problem.multiplicity

    @cached_property
    def job(self) -> Job:
        """Labels and set sizes in one sum."""
        return self._job(self.V)

    @cached_property
    def label_job(self) -> Job:
        """Labels only."""
        return self._job(self.V[:, : self.references.n_labels])

    @cached_property
    def share_job(self) -> Job:
        """Labels, and the total similarity as one column in place of the set sizes."""
        n = self.references.n_labels

        def with_total(V: sp.csr_array) -> sp.csr_array:  # each row has one set size
            return sp.csr_array((V.data, np.minimum(V.indices, n), V.indptr), shape=(V.shape[0], n + 1))

        parts = [with_total(piece) for piece in pieces(self.V)]
        return self._job(Stack(parts) if isinstance(self.V, Stack) else parts[0])

    def _job(self, V: Influences) -> Job:
        weighting = self.stages.weighting
        row_scope = weighting is not None and weighting.scope == "row"
        reducer = reducer_for(weighting, V, self.references.weights if row_scope else None)
        return Job(self.stages.similarity, weighting, reducer)

    @cached_property
    def known(self) -> KnownSums | None:
        """Correction of the sums for unknown labels; None if all labels are known or influence is learned."""
        if self.references.is_complete or self.stages.influence.learned:
            return None
        return KnownSums(self.problem, self.solved.scale is not None)

    @cached_property
    def shares_are_comparable(self) -> bool:
        """Whether sums are shares of the similarity: influence is not learned, and nothing is negative."""
        return not self.stages.influence.learned and never_negative(self.problem)

    @cached_property
    def frequencies(self) -> FloatArray:
        """Weight of each label and each set size among the references, (n_labels + n_sizes,)."""
        if not self.references.is_complete:
            return KnownSums(self.problem).frequencies
        rows = self.problem.rows
        return np.sum([np.asarray(piece.sum(axis=0)).ravel() for piece in pieces(rows)], axis=0)

    @property
    def set_sizes(self) -> IntArray:
        """The set sizes that a rule may choose from; none if labels may be missing."""
        return self.references.sizes if self.stages.label_frequency is None else np.empty(0, dtype=np.int64)

    @cached_property
    def label_shares(self) -> FloatArray:
        """Share of the references that have each label, among those where it is known, (n_labels,)."""
        references, label_frequency = self.references, self.stages.label_frequency
        if references.is_complete:
            shares = np.asarray(references.imputed_Y.T @ references.weights / references.weights.sum())
            return shares if label_frequency is None else shares / label_frequency
        return KnownSums(Problem(replace(self.stages, scales=None), references)).shares

    def plan(self, n_queries: int) -> Plan:
        """Return the plan of a call with that many queries."""
        if self.sketch is not None:
            return self.sketch.plan(n_queries)
        stages = self.stages
        plan = stages.engine.plan(n_queries, self.prepared, [self.job], stages.n_jobs)
        if stages.weighting is not None or stages.influence.learned or not plan.references:
            return plan  # a weighting cannot be sketched; without visited pairs a sketch saves nothing
        words = cheaper_alternatives(stages.similarity, self.prepared.n_rows)
        return plan if words is None else replace(plan, reasons=(*plan.reasons, words))

    def score(
        self,
        Q: Rows,
        exclude: Exclude | None = None,
        rows: IntArray | None = None,
        *,
        symmetric: bool = False,
    ) -> ScoreBlock:
        """Return scores of a chunk of normalized queries.

        Parameters
        ----------
        Q : rows, (n_queries, n_features)
        exclude : Exclude, optional
            References that are left out of the sums of each query.
        rows : array of int, (n_queries,), optional
            Positions of the queries among the references, if each is left out of its own sums.
        symmetric : bool
            Whether the queries are all references.
        """
        if self.sketch is not None and exclude is None:
            sums = self.sketch.sums(Q)
        else:
            sums = self._reduced(self.stages.engine, Q, self.job, exclude, symmetric)
        return self.block(sums if self.solved.intercept is None else sums + self.solved.intercept, rows)

    def label_weights(self, Q: Rows) -> FloatArray:
        """Return label weights of a chunk of normalized queries, without sums for set sizes if possible.

        Engines that do not visit all pairs, and sketches, keep a form of V that has both.
        """
        engine = self._exact_engine(n_rows(Q))
        if engine is None:
            return self.score(Q).labels
        sums = self._reduced(engine, Q, self.label_job)
        intercept = self.solved.intercept
        return sums if intercept is None else sums + intercept[: sums.shape[1]]

    def shares(self, Q: Rows) -> FloatArray:
        """Return the share of the similarity for each label, of a chunk of normalized queries.

        A query that is not similar to any reference gets the label frequencies. If the similarities of a
        query add up to less than 0, as with negative features, its sums are returned as they are.
        """
        engine, n = self._exact_engine(n_rows(Q)), self.references.n_labels
        if engine is None:
            return shares_of(self.score(Q))
        sums = self._reduced(engine, Q, self.share_job)
        silent = ~sums.any(axis=1)
        sums[silent, :n], sums[silent, n] = self.frequencies[:n], self.frequencies[n:].sum()
        labels, total = sums[:, :n], sums[:, n:]
        return np.divide(labels, total, out=labels, where=total > 0)

    def _exact_engine(self, n_queries: int) -> Exact | None:
        """Return the engine if it visits all pairs for that many queries, and so can sum any columns."""
        engine = self.stages.engine
        if self.sketch is not None or n_queries <= limits().few_queries or is_lazy(self.prepared.X):
            return None
        if self.known is not None:
            return None  # the divisor of the labels needs all columns
        if isinstance(engine, Auto):
            engine = engine.choose(n_queries, self.prepared, [self.job])
        return engine if isinstance(engine, Exact) else None

    def _reduced(
        self, engine: Engine, Q: Rows, job: Job, exclude: Exclude | None = None, symmetric: bool = False
    ) -> FloatArray:
        call = ReduceCall(Q, self.prepared, [job], exclude, symmetric, self.stages.n_jobs)
        return engine.reduce(call)[0]

    def block(self, sums: FloatArray, rows: IntArray | None = None) -> ScoreBlock:
        """Return sums over labels and set sizes in the form that label rules take."""
        n_labels = self.references.n_labels
        labels, sizes, totals = sums[:, :n_labels], sums[:, n_labels:], None
        if self.known is not None:
            labels, sizes, totals = self.known(sums, rows)
        elif not sizes.shape[1]:
            totals = np.ones(len(sums))  # learned scores are expected values of the labels
        ranking, silent = labels, ~sums.any(axis=1)
        if silent.any():
            ranking, sizes = labels.copy(), sizes.copy()
            ranking[silent] = self.frequencies[:n_labels]
            sizes[silent] = self.frequencies[n_labels:]
            totals = None if totals is None else np.where(silent, self.multiplicity.sum(), totals)
        return ScoreBlock(labels, sizes, ranking, totals, self.references.constant)

    def known_factors(self, Q: Rows) -> FloatArray:
        """Return the factors that correct sums for unknown labels, (n_queries, n_columns)."""
        assert self.known is not None
        return self.known.factors(self._reduced(self.stages.engine, Q, self.job))

    def with_references(self, references: References, kept: RemainingRows, places: IntArray) -> Scorer:
        """Return the scorer for other references; every resolved value is held.

        `kept` are the positions of the former references that come first; new ones follow. `places` are the
        positions of the former labels.
        """
        if self.sketch is not None:
            refuse_unknown(references.completed.knowledge, "a sketch is of label sets that are all known")
        stages, before = self.stages, self.references
        if stages.label_frequency is not None:  # new labels are recorded as often as the median label
            frequency = np.full(references.n_labels, np.median(stages.label_frequency))
            frequency[places] = stages.label_frequency
            stages = replace(stages, label_frequency=frequency)
        change = Change(self.problem, kept, places)
        solved = stages.influence.updated(self.solved, change, Problem(stages, references))
        after = replace(self, stages=stages)._with(references, solved)
        same = references.is_complete == before.is_complete
        if same and np.array_equal(references.sizes, before.sizes):  # the same columns, if as many
            self.stages.engine.update_cache(self.prepared, self.job, after.prepared, after.job)
        return after if self.sketch is None else replace(after, sketch=self._updated_sketch(after, kept))

    def solved_again(self, references: References) -> Scorer:
        """Return the scorer for other references or label sets, solved for without the former ones."""
        after = self._with(references, Problem(self.stages, references).solve())
        return after if self.sketch is None else replace(after, sketch=self._rebuilt_sketch(after))

    def _with(self, references: References, solved: Solved) -> Scorer:
        after = replace(self, references=references, solution=solved)
        return replace(after, prepared_references=after._prepared(known=self.prepared))

    def _rebuilt_sketch(self, after: Scorer) -> FeatureSums:
        assert isinstance(self.sketch, FeatureSums)  # updates of other sketches are refused
        return self.sketch.emptied(after.V.shape[1]).added(after.references.X, after.V)

    def _updated_sketch(self, after: Scorer, kept: RemainingRows) -> FeatureSums:
        """Return the sketch with added and without removed rows; rebuild it if the columns changed."""
        sketch, before, now = self.sketch, self.references, after.references
        assert isinstance(sketch, FeatureSums)  # updates of other sketches are refused
        same = now.n_labels == before.n_labels and np.array_equal(now.sizes, before.sizes)
        # unknown entries count as the constant, which may have changed
        same = same and (
            now.knowledge is None or np.array_equal(np.asarray(now.constant), np.asarray(before.constant))
        )
        removed = np.setdiff1d(np.arange(before.n_rows), np.asarray(kept, dtype=np.int64))
        if not same or len(removed) + now.n_rows - len(kept) > now.n_rows:
            return self._rebuilt_sketch(after)
        if len(removed):
            sketch = sketch.added(take_rows(before.X, removed), self.V[removed], -1.0)
        new = slice(len(kept), now.n_rows)
        return sketch.added(now.X[new], after.V[new]) if len(kept) < now.n_rows else sketch

    def chunks(self, Q: Rows) -> Iterator[slice]:
        """Cut queries so that neither scores nor normalized queries of a chunk take much memory."""
        width = max(self.job.reducer.width, Q.shape[1] if hasattr(Q, "shape") and len(Q.shape) > 1 else 1)
        return iter(blocks(n_rows(Q), max(1, limits().block_bytes // (8 * width))))


def shares_of(scores: ScoreBlock) -> FloatArray:
    """Return scores over the similarity to all references if that is above 0, else the scores."""
    total = scores.sizes.sum(axis=1, keepdims=True)
    return np.divide(scores.ranking, total, out=scores.ranking.copy(), where=total > 0)


def total_similarity(scorer: Scorer, Q: Rows, exclude: Exclude | None) -> FloatArray:
    """Return the weighted similarity to all references together, (n_queries,)."""
    references, stages = scorer.references, scorer.stages
    V = references.weights[:, None].astype(np.float64)
    job = Job(stages.similarity, stages.weighting, reducer_for(stages.weighting, V, references.weights))
    summed = scorer.prepared if scorer.solved.used is None else prepare(references.X, [stages.similarity])
    call = ReduceCall(Q, summed, [job], exclude, n_jobs=stages.n_jobs)
    return stages.exact_engine.reduce(call)[0][:, 0]
