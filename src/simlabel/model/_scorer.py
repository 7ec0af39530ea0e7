"""From the sums over references to the scores that a label rule sees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import Stack, blocks, is_lazy, n_rows, pieces, take_rows
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, Rows
from simlabel.labels import refuse_unknown
from simlabel.model.sketches import FeatureSums, FittedSketch, what_is_cheaper
from simlabel.ridge import Kept, KnownSums, Problem, Solved, Stages, never_negative
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


def used_rows(references: References, solved: Solved) -> Rows:
    """The references that are summed over."""
    return references.X if solved.used is None else take_rows(references.X, solved.used)


def shares_of(scores: ScoreBlock) -> FloatArray:
    """Scores over the similarity to all references, where that is above 0; as they are elsewhere."""
    total = scores.sizes.sum(axis=1, keepdims=True)
    return np.divide(scores.ranking, total, out=scores.ranking.copy(), where=total > 0)


def _sizes_as_one(V: sp.csr_array, n_labels: int) -> sp.csr_array:
    """[Y | one-hot of the set size] with all sizes in one column; each row has one of them."""
    columns = np.minimum(V.indices, n_labels)
    return sp.csr_array((V.data, columns, V.indptr), shape=(V.shape[0], n_labels + 1))


@dataclass(frozen=True)
class Scorer:
    """Everything that a score depends on, with all values resolved.

    Attributes
    ----------
    stages : Stages
    references : References
    solution : Solved or None
        Their influence; None where it is found when needed, as of a model that was just loaded.
    ready : Prepared or None
        What is summed over; likewise.
    sketch : FittedSketch or None
        The sums in a short form.
    """

    stages: Stages
    references: References
    solution: Solved | None = None
    ready: Prepared | None = None
    sketch: FittedSketch | None = None

    @property
    def problem(self) -> Problem:
        """What the influence is computed from."""
        return Problem(self.stages, self.references)

    @cached_property
    def solved(self) -> Solved:
        """The influence of the references."""
        return self.problem.solve() if self.solution is None else self.solution

    @cached_property
    def prepared(self) -> Prepared:
        """What is summed over, made ready."""
        if self.ready is not None:
            return self.ready
        return prepare(used_rows(self.references, self.solved), [self.stages.similarity], keep_views=True)

    def made_ready(self) -> Scorer:
        """The same, with the references made ready now: what is wrong with the rows is said here."""
        return replace(self, ready=self.prepared)

    @property
    def V(self) -> Influences:
        """Influence of the used references."""
        return self.solved.V

    @cached_property
    def stands_for(self) -> FloatArray:
        """How many instances each reference counts as: its weight, times what it was drawn for."""
        return self.problem.stands_for

    @cached_property
    def job(self) -> Job:
        """Labels and set sizes in one sum."""
        return self._job(self.V)

    @cached_property
    def label_job(self) -> Job:
        """Labels alone."""
        return self._job(self.V[:, : self.references.n_labels])

    @cached_property
    def share_job(self) -> Job:
        """Labels, and all similarity in one column in place of the set sizes."""
        n = self.references.n_labels
        parts = [_sizes_as_one(piece, n) for piece in pieces(self.V)]
        return self._job(Stack(parts) if isinstance(self.V, Stack) else parts[0])

    def _job(self, V: Influences) -> Job:
        weighting = self.stages.weighting
        whole = weighting is not None and weighting.scope == "row"
        reducer = reducer_for(weighting, V, self.references.weights if whole else None)
        return Job(self.stages.similarity, weighting, reducer)

    @cached_property
    def known(self) -> KnownSums | None:
        """What makes sums comparable where not all labels are known; None where all are, or it is learnt."""
        if self.references.is_complete or self.stages.influence.learned:
            return None
        return KnownSums(self.problem, self.solved.scale is not None)

    @cached_property
    def shares_compare(self) -> bool:
        """Whether a query's sums are shares of its similarity: nothing is learned, or below 0."""
        return not self.stages.influence.learned and never_negative(self.problem)

    @cached_property
    def frequencies(self) -> FloatArray:
        """What each label and each set size weighs among the references, whatever the query."""
        if not self.references.is_complete:
            return KnownSums(self.problem).frequencies
        rows = self.problem.rows
        pieces = rows.pieces if isinstance(rows, Stack) else (rows,)
        return np.sum([np.asarray(piece.sum(axis=0)).ravel() for piece in pieces], axis=0)

    @property
    def set_sizes(self) -> npt.NDArray[np.int64]:
        """The set sizes that a rule may choose from: none where label sets may lack labels that apply."""
        return self.references.sizes if self.stages.recorded is None else np.empty(0, dtype=np.int64)

    @cached_property
    def label_shares(self) -> FloatArray:
        """Of the references of which it is known, the share that has each label, (n_labels,)."""
        references, recorded = self.references, self.stages.recorded
        if references.is_complete:
            shares = np.asarray(references.settled_Y.T @ references.weights / references.weights.sum())
            return shares if recorded is None else shares / recorded
        return KnownSums(Problem(replace(self.stages, scales=None), references)).shares

    def plan(self, n_queries: int) -> Plan:
        """What a call with that many queries does."""
        if self.sketch is not None:
            return self.sketch.plan(n_queries)
        stages = self.stages
        plan = stages.engine.plan(n_queries, self.prepared, [self.job], stages.n_jobs)
        if stages.weighting is not None or stages.influence.learned or not plan.references:
            return plan  # a weighting cannot be sketched; where no pairs are visited nothing is to be saved
        words = what_is_cheaper(stages.similarity, self.prepared.n_rows)
        return plan if words is None else replace(plan, reasons=(*plan.reasons, words))

    def score(
        self,
        Q: Rows,
        exclude: Exclude | None = None,
        rows: npt.NDArray[np.integer] | None = None,
        *,
        symmetric: bool = False,
    ) -> ScoreBlock:
        """Scores of a chunk of normalized queries; `symmetric` where they are all references.

        `rows` says which references they are where each is left out of its own sums.
        """
        if self.sketch is not None and exclude is None:
            sums = self.sketch.sums(Q)
        else:
            sums = self._reduced(self.stages.engine, Q, self.job, exclude, symmetric)
        return self.block(sums if self.solved.intercept is None else sums + self.solved.intercept, rows)

    def label_weights(self, Q: Rows) -> FloatArray:
        """Label weights of a chunk of normalized queries: where all pairs are visited, no set size is summed.

        Other engines, and sketches, keep a form of V that has both.
        """
        engine = self._by_pairs(n_rows(Q))
        if engine is None:
            return self.score(Q).labels
        sums = self._reduced(engine, Q, self.label_job)
        intercept = self.solved.intercept
        return sums if intercept is None else sums + intercept[: sums.shape[1]]

    def shares(self, Q: Rows) -> FloatArray:
        """The share of its similarity that speaks for each label, of a chunk of normalized queries.

        A query that is similar to nothing has the frequencies of the labels. Where similarities add up to
        less than nothing, as those of a query with features below 0 may, its sums stay as they are.
        """
        engine, n = self._by_pairs(n_rows(Q)), self.references.n_labels
        if engine is None:
            return shares_of(self.score(Q))
        sums = self._reduced(engine, Q, self.share_job)
        silent = ~sums.any(axis=1)
        sums[silent, :n], sums[silent, n] = self.frequencies[:n], self.frequencies[n:].sum()
        labels, total = sums[:, :n], sums[:, n:]
        return np.divide(labels, total, out=labels, where=total > 0)

    def _by_pairs(self, n_queries: int) -> Exact | None:
        """What visits all pairs for so many queries, and sums whatever columns it is given; or None."""
        engine = self.stages.engine
        if self.sketch is not None or n_queries <= limits().few_queries or is_lazy(self.prepared.X):
            return None
        if self.known is not None:
            return None  # what labels are divided by is summed too
        if isinstance(engine, Auto):
            engine = engine.choose(n_queries, self.prepared, [self.job])
        return engine if isinstance(engine, Exact) else None

    def _reduced(
        self, engine: Engine, Q: Rows, job: Job, exclude: Exclude | None = None, symmetric: bool = False
    ) -> FloatArray:
        call = ReduceCall(Q, self.prepared, [job], exclude, symmetric, self.stages.n_jobs)
        return engine.reduce(call)[0]

    def block(self, sums: FloatArray, rows: npt.NDArray[np.integer] | None = None) -> ScoreBlock:
        """Sums over labels and set sizes as a label rule sees them."""
        n_labels = self.references.n_labels
        labels, sizes, totals = sums[:, :n_labels], sums[:, n_labels:], None
        if self.known is not None:
            labels, sizes, totals = self.known(sums, rows)
        elif not sizes.shape[1]:
            totals = np.ones(len(sums))  # what is learnt is what each label is expected to be
        silent = ~sums.any(axis=1)
        if not silent.any():
            return ScoreBlock(labels, sizes, labels, totals, self.references.constant)
        ranking, sizes = labels.copy(), sizes.copy()
        ranking[silent] = self.frequencies[:n_labels]
        sizes[silent] = self.frequencies[n_labels:]
        if totals is not None:
            totals = np.where(silent, self.stands_for.sum(), totals)
        return ScoreBlock(labels, sizes, ranking, totals, self.references.constant)

    def known_factors(self, Q: Rows) -> FloatArray:
        """By what sums of labels and sizes are multiplied, since not all is known, (n_queries, n_columns)."""
        assert self.known is not None
        return self.known.factors(self._reduced(self.stages.engine, Q, self.job))

    def with_references(self, references: References, kept: Kept) -> Scorer:
        """The same with other references, every resolved value held.

        `kept` says which of the former references come first; new ones follow.
        """
        stages = self.stages
        if self.sketch is not None:
            refuse_unknown(references.completed.knowledge, "a sketch is of label sets that are all known")
        solved = stages.influence.updated(self.solved, Problem(stages, references), kept)
        known = self.prepared if solved.used is None and self.solved.used is None else None
        ready = prepare(used_rows(references, solved), [stages.similarity], keep_views=True, known=known)
        after = replace(self, references=references, ready=ready, solution=solved)
        same = references.is_complete == self.references.is_complete
        if same and np.array_equal(references.sizes, self.references.sizes):  # the same columns, if as many
            stages.engine.carry(self.prepared, self.job, ready, after.job)
        return after if self.sketch is None else replace(after, sketch=self._updated_sketch(after, kept))

    def with_labels(self, references: References) -> Scorer:
        """The same rows with other label sets, every resolved value held."""
        stages = self.stages
        solved = stages.influence.updated(self.solved, Problem(stages, references), range(references.n_rows))
        rows = used_rows(references, solved)
        ready = prepare(rows, [stages.similarity], keep_views=True, known=self.prepared)
        after = replace(self, references=references, ready=ready, solution=solved)
        if self.sketch is None:
            return after
        assert isinstance(self.sketch, FeatureSums)  # others are refused
        return replace(after, sketch=self.sketch.emptied(after.V.shape[1]).added(references.X, after.V))

    def _updated_sketch(self, after: Scorer, kept: Kept) -> FeatureSums:
        """The short form with what came and without what went; where the columns differ, all anew."""
        assert isinstance(self.sketch, FeatureSums)  # others are refused
        before, now = self.references, after.references
        same = now.n_labels == before.n_labels and np.array_equal(now.sizes, before.sizes)
        # unknown cells count as the constant, which may be another now
        same = same and (now.knowledge is None or _constant(now) == _constant(before))
        gone = np.setdiff1d(np.arange(before.n_rows), np.asarray(kept, dtype=np.int64))
        if not same or len(gone) + now.n_rows - len(kept) > now.n_rows:
            return self.sketch.emptied(after.V.shape[1]).added(now.X, after.V)
        sketch = self.sketch
        if len(gone):
            sketch = sketch.added(take_rows(before.X, gone), self.V[gone], -1.0)
        came = slice(len(kept), now.n_rows)
        return sketch.added(now.X[came], after.V[came]) if len(kept) < now.n_rows else sketch

    def chunks(self, Q: Rows) -> Iterator[slice]:
        """Cut queries so that neither scores nor normalized queries of a chunk take much memory."""
        width = max(self.job.reducer.width, Q.shape[1] if hasattr(Q, "shape") and len(Q.shape) > 1 else 1)
        return iter(blocks(n_rows(Q), max(1, limits().block_bytes // (8 * width))))


def _constant(references: References) -> list[int]:
    return [] if references.constant is None else references.constant.tolist()
