"""What leave-one-out says about instances, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from simlabel import SMLClassifier, Tagger
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, Function, Laplacian, Linear
from simlabel.sums import Auto, Exact, Power, TopK, UniformSampler

NAMES = ["desert", "sea", "sunset"]
GAMMA = 3.0


def problem(rng, n=18):
    X = rng.random((n, 3))
    y = [{k for k in range(3) if rng.random() < 0.4} for _ in range(n)]
    return X, y


def test_scores_leave_the_instance_out(rng):
    X, y = problem(rng)
    weights = rng.integers(1, 3, len(X)).astype(float)
    function = Function(naive.rbf(GAMMA), nonnegative=True)
    model = SMLClassifier(function, normalizer=None).fit(X, y, sample_weight=weights)
    scores = model.leave_one_out("decision_function")
    rows = X.tolist()
    for i in range(len(X)):
        counted = naive.influences(rows[i], rows, naive.rbf(GAMMA), weights=weights, exclude=i)
        for k in range(3):
            having = sum(c for c, labels in zip(counted, y, strict=True) if k in labels)
            assert scores[i, k] == pytest.approx(having / sum(counted))


def test_suspicion_counts_the_log_odds_by_the_other_rows_that_tell_of_the_label(rng):
    X, y = problem(rng)
    # a function is not known to be positive definite: the model's own sums are believed
    frame = SMLClassifier(naive.rbf(GAMMA), normalizer=None).fit(X, y).suspicious_labels(top=None)
    assert frame.attrs["evidence"].startswith("Uniform()")
    assert len(frame) == len(X) * 3
    assert frame["suspicion"].is_monotonic_decreasing
    for _, row in frame.iterrows():
        p = row["probability"]
        assert row["given"] == (row["label"] in y[row["id"]])
        others = [labels for i, labels in enumerate(y) if i != row["id"]]
        having = sum(row["label"] in labels for labels in others)
        few = min(having, len(others) - having)
        trust, odds = few / (few + 5), np.log(p / (1 - p))
        base = np.log((having + 0.5) / (len(others) - having + 0.5))
        wrong = -trust * odds if row["given"] else base + trust * (odds - base)
        assert row["suspicion"] == pytest.approx(1 / (1 + np.exp(-wrong)))


def news(rng, n_rows=700, n_labels=40):
    """Texts whose labels have Zipf frequencies; of three in ten, hardly a word tells of a label."""
    frequency = np.arange(1, n_labels + 1) ** -1.3
    Y, texts = np.zeros((n_rows, n_labels), dtype=int), []
    for row in Y:
        row[rng.choice(n_labels, 1 + (rng.random() < 0.25), False, frequency / frequency.sum())] = 1
        words = [f"any{rng.integers(300)}" for _ in range(15)]
        for k in np.flatnonzero(row):
            words += [f"t{k}w{j}" for j in rng.integers(0, 12, 1 if rng.random() < 0.3 else 6)]
        texts.append(" ".join(words))
    return texts, Y


def test_the_first_suspects_are_worth_a_persons_time_where_many_labels_are_rare():
    """Ten wrong tags and ten missing ones, each, of labels that at most 20 rows have and of the others."""
    rng = np.random.default_rng(0)
    texts, Y = news(rng)
    tags, counts = Y.copy(), Y.sum(axis=0)
    for labels in (np.flatnonzero((counts > 3) & (counts <= 20)), np.flatnonzero(counts > 20)):
        for value in (0, 1):
            pairs = np.argwhere(Y[:, labels] == 1 - value)
            rows, places = pairs[rng.choice(len(pairs), 10, replace=False)].T
            tags[rows, labels[places]] = value
    frame = Tagger().fit(texts, tags).suspicious_labels(top=None)
    planted = Y[frame["id"], frame["label"]] != tags[frame["id"], frame["label"]]
    rare = counts[frame["label"]] <= 20
    first = np.arange(len(frame)) < 30
    by_probability = (frame["probability"] - frame["given"]).abs().rank(ascending=False, method="first") <= 30
    assert rare[by_probability].mean() > 0.9  # labels of few rows crowd out the others
    assert planted[first].mean() >= planted[by_probability].mean() + 0.15
    assert (planted & rare & first).sum() >= 2
    assert rare[first].mean() <= 0.6


def test_planted_errors_are_found_whatever_the_settings(rng):
    """Classes that only one of many columns of very different scales tells apart."""
    n = 120
    X = rng.normal(size=(n, 4)) * [20.0, 10.0, 5.0, 0.5] + 50.0
    right = np.arange(n) % 2 == 0
    X[:, 3] += np.where(right, 8.0, -8.0)
    y = [{"right"} if each else {"left"} for each in right]
    wrong = [3, 40, 77]
    for i in wrong:
        y[i] = {"left", "right"}
    found = SMLClassifier(random_state=0).fit(X, y).suspicious_labels(top=3)
    assert sorted(found["id"]) == wrong
    assert "Laplacian" in found.attrs["evidence"]
    assert "calibrated" in found.attrs["evidence"]


@pytest.mark.parametrize("influence", ["uniform", "ridge"])
def test_planted_errors_are_found(influence, rng):
    """Two far clusters: a label that belongs to the other one is the first that is doubted."""
    X = np.vstack([rng.normal(0.0, 0.1, (30, 2)), rng.normal(5.0, 0.1, (30, 2))])
    y = [{"left"}] * 30 + [{"right"}] * 30
    y[4], y[50] = {"left", "right"}, {"left", "right"}
    model = SMLClassifier(RBF(1.0), normalizer=None, influence=influence).fit(X, y)
    found = model.suspicious_labels(top=2)
    assert set(zip(found["id"], found["label"], strict=True)) == {(4, "right"), (50, "left")}


def test_duplicates_that_contradict(rng):
    X, y = problem(rng)
    X[7], X[11] = X[2] + 1e-3, X[3]
    y[2], y[7], y[3], y[11] = {0}, {1, 2}, {0, 1}, {0}
    for similarity, phi in ((RBF(GAMMA), naive.rbf(GAMMA)), (Linear(), naive.dot)):
        model = SMLClassifier(similarity, normalizer=None).fit(X[:10], y[:10]).partial_fit(X[10:], y[10:])
        frame = model.contradicting_duplicates(min_similarity=0.9)
        wanted = {}
        rows = X.tolist()
        for i in range(len(X)):
            for j in range(i + 1, len(X)):
                s = phi(rows[i], rows[j]) / np.sqrt(phi(rows[i], rows[i]) * phi(rows[j], rows[j]))
                if s >= 0.9 and y[i] != y[j]:
                    wanted[i, j] = len(y[i] ^ y[j]) / len(y[i] | y[j])
        assert (2, 7) in wanted
        assert (3, 11) in wanted
        pairs = zip(frame["id"], frame["other"], strict=True)
        assert dict(zip(pairs, frame["disagreement"], strict=True)) == pytest.approx(wanted)
        assert frame["disagreement"].is_monotonic_decreasing


def brute_force(X, y, weights, phi, psi, criterion, sign, most):
    """Score every instance by all others, and by all others but one, by plain loops."""
    n, rows = len(X), X.tolist()

    def value(i, without=None):
        there = [j for j in range(n) if j != without]
        some = [rows[j] for j in there]
        scores = naive.label_weights(
            rows[i], some, [y[j] for j in there], 3, phi, psi, [weights[j] for j in there], there.index(i)
        )
        return criterion(scores, y[i])

    defined = [i for i in range(n) if 0 < len(y[i]) <= most]
    result = []
    for j in range(n):
        others = [i for i in defined if i != j]
        total = sum(weights[i] * sign * (value(i) - value(i, j)) for i in others)
        result.append(total / sum(weights[i] for i in others))
    return result


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), narrow=st.booleans())
def test_data_values_are_exact(seed, narrow):
    rng = np.random.default_rng(seed)
    X, y = problem(rng, n=12)
    y[0] = {0}
    weights = rng.integers(1, 3, len(X)).astype(float)
    # one neighbor is nearly the whole sum, but not so nearly that rounding decides between labels
    gamma = 12.0 if narrow else GAMMA
    for weighting, psi in ((None, naive.keep_all), (Power(2), naive.power(2))):
        model = SMLClassifier(RBF(gamma), weighting=weighting, normalizer=None)
        model.fit(X, y, sample_weight=weights)
        if len(model.classes_) < 3:
            return
        for name, criterion, sign, most in (
            ("ranking_loss", naive.ranking_loss, -1.0, 2),  # undefined where all labels are true
            ("average_precision", naive.average_precision, 1.0, 3),
        ):
            wanted = brute_force(X, y, weights, naive.rbf(gamma), psi, criterion, sign, most)
            np.testing.assert_allclose(model.data_values(name), wanted, atol=1e-9)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_data_values_of_learned_influence_are_those_of_refits(seed):
    """Leave each row out by fitting anew without it, with gamma and penalty held."""
    rng = np.random.default_rng(seed)
    X, y = problem(rng, n=12)
    y[0], y[1] = {0, 1}, {1, 2}
    weights = rng.integers(1, 3, len(X)).astype(float)

    def loo_scores(rows):
        model = SMLClassifier(RBF(GAMMA), influence=Ridge(0.2), normalizer=None)
        model.partial_fit(X[rows], [y[i] for i in rows], classes=[0, 1, 2], sample_weight=weights[rows])
        scores = np.round(model.leave_one_out(), 10)  # so that labels with the same rows are ties
        return model, dict(zip(rows, scores, strict=True))

    model, whole = loo_scores(range(12))
    defined = [i for i in range(12) if 0 < len(y[i]) < 3]
    wanted = []
    for j in range(12):
        _, fewer = loo_scores([i for i in range(12) if i != j])
        others = [i for i in defined if i != j]
        gains = [naive.ranking_loss(fewer[i], y[i]) - naive.ranking_loss(whole[i], y[i]) for i in others]
        wanted.append(np.average(gains, weights=weights[others]))
    np.testing.assert_allclose(model.data_values("ranking_loss"), wanted, atol=1e-9)


def test_data_values_refuse_what_has_no_closed_form(rng):
    X, y = problem(rng)
    for options, message in (
        ({"influence": Ridge(0.2, inducing=5)}, r"inducing=5.*Ridge\(inducing=None, mixing=False, vocab"),
        ({"influence": Ridge(0.2, vocabulary=True)}, r"vocabulary=True.*mixing=False, vocabulary=False\)"),
        ({"influence": Ridge(0.2, mixing=True)}, "mixing=True"),
        ({"influence": "label_mean"}, r"'uniform' and 'ridge', not LabelMean\(\)"),
        ({"sampler": UniformSampler(9)}, "not with a sketch or a sampler"),
    ):
        with pytest.raises(ValueError, match=message):
            SMLClassifier(RBF(1.0), **options).fit(X, y).data_values()


def test_data_values_refuse_what_does_not_add_up(rng):
    X, y = problem(rng)
    with pytest.raises(ValueError, match="TopK"):
        SMLClassifier(RBF(1.0), weighting=TopK(3)).fit(X, y).data_values()
    with pytest.raises(ValueError, match="unknown criterion 'hamming_loss'; expected one of one_error"):
        SMLClassifier(RBF(1.0)).fit(X, y).data_values("hamming_loss")


@pytest.mark.parametrize("influence", ["uniform", "ridge"])
def test_novelty_is_a_rank_among_the_left_out(influence, rng):
    X, y = problem(rng)
    Q = np.vstack([rng.random((5, 3)), [[30.0, 30.0, 30.0]], X[:2]])
    model = SMLClassifier(RBF(GAMMA), normalizer=None, influence=influence).fit(X, y)
    rows = X.tolist()
    base_rate = [sum(naive.influences(x, rows, naive.rbf(GAMMA), exclude=i)) for i, x in enumerate(rows)]
    totals = [sum(naive.influences(q, rows, naive.rbf(GAMMA))) for q in Q.tolist()]
    wanted = [np.mean([u > t for u in base_rate]) for t in totals]
    assert model.novelty(Q).tolist() == pytest.approx(wanted)
    assert model.novelty(Q)[5] == 1.0


def test_suggestions_are_in_doubt_and_unlike_each_other(rng):
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    model = SMLClassifier(Laplacian(1.0), normalizer=None).fit(X, [{"sea"}, {"trees"}])
    pool = np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5], [0.45, 0.55], [3.0, 3.0]])
    picked = model.suggest(pool, n=3).tolist()
    assert picked[0] in (1, 2, 3)  # both labels are about as likely there, and it is like others of the pool
    assert {1, 2} - set(picked)  # one of two that are the same is enough
    assert pool[picked[1]].tolist() != pool[picked[0]].tolist()
    assert sorted(model.suggest(pool, n=99).tolist()) == list(range(5))
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        model.suggest(pool, n=0)


@pytest.mark.parametrize("influence", ["uniform", "ridge"])
def test_suggest_passes_over_the_references_three_times(rng, influence):
    """For the doubt, for what they have in common with the pool, and with each other."""
    X, Y = rng.random((30, 4)), rng.integers(0, 2, (30, 3))
    passes = []  # numbers of pairs

    def count(done, total):
        passes.extend([total] if done == total else [])

    engine = Exact(on_block=count)
    model = SMLClassifier(RBF(2.0), influence=influence, calibration="loo", engine=engine).fit(X, Y)
    passes.clear()
    model.suggest(rng.random((17, 4)), n=5)
    assert 1 <= passes.count(17 * 30) <= 3
    assert len(passes) <= 4  # the pool with itself


def test_refused_without_features():
    model = SMLClassifier("precomputed").fit(np.eye(3), [{"a"}, {"b"}, {"a"}])
    for call in (
        lambda: model.novelty(np.eye(3)),
        lambda: model.suggest(np.eye(3)),
        lambda: model.data_values(),
        lambda: model.contradicting_duplicates(),
    ):
        with pytest.raises(ValueError, match="precomputed"):
            call()


ASKED = {
    "explain": lambda model, Q: model.explain(Q),
    "novelty": lambda model, Q: model.novelty(Q),
    "suggest": lambda model, Q: model.suggest(Q, n=2),
    "contradicting_duplicates": lambda model, Q: model.contradicting_duplicates(),
    "data_values": lambda model, Q: model.data_values(),
}


@pytest.mark.parametrize("engine", [Exact(memory_mib=16), Auto(memory_mib=16)], ids=repr)
@pytest.mark.parametrize("asked", ASKED)
def test_the_bound_on_memory_holds_for_diagnostics(asked, engine, rng, monkeypatch):
    X, y = problem(rng)
    model = SMLClassifier(RBF(GAMMA), normalizer=None, engine=engine).fit(X, y)
    bounds, reduce = [], Exact.reduce

    def recorded(self, *args, **options):
        bounds.append(self.memory_mib)
        return reduce(self, *args, **options)

    monkeypatch.setattr(Exact, "reduce", recorded)
    ASKED[asked](model, rng.random((5, 3)))
    assert set(bounds) == {16}
