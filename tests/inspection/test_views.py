"""What a notebook shows of explanations, models and evaluations: complete, and nothing of it is obeyed."""

from __future__ import annotations

from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest

from simlabel import AutoSMLClassifier, SMLClassifier, Tagger
from simlabel.metrics import evaluate
from simlabel.ridge import Ridge
from simlabel.similarities import RBF

EVIL = "<script>alert(1)</script> $x_1$ \x1b[31m"
TEXTS = ["a shark at sea", "sharks at sea", "love in town", f"in love {EVIL}"]
SETS = [{"sea"}, {"sea"}, {EVIL}, {EVIL, "love"}]


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.opened, self.open = [], []
        self.feed(text)
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.opened.append(tag)
        if tag not in ("meta", "br", "input", "img", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def tagger():
    return Tagger().fit([{"title": EVIL, "plot": text} for text in TEXTS], SETS)


def check(html):
    assert "script" not in Tags(html).opened
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html


def test_explanations_show_names_and_obey_none(tagger):
    queries = [{"title": EVIL, "plot": f"a shark {EVIL}"}, {"title": "x", "plot": "love"}]
    why = tagger.explain(queries)
    check(why._repr_html_())
    assert why._repr_html_().count("<summary>") == sum(map(len, why.chosen))
    assert "\x1b" not in str(why)
    mpl.use("Agg")
    for words in (True, False):
        ax = why.plot(1, words=words)
        ax.figure.canvas.draw()
        assert len(ax.patches) > 0
    mpl.pyplot.close("all")


def test_bars_for_go_right_and_bars_against_left(rng):
    mpl.use("Agg")
    X, y = rng.random((20, 3)), [{"a"} if i % 2 else {"b"} for i in range(20)]
    why = SMLClassifier(RBF(2.0), influence=Ridge(0.01)).fit(X, y).explain(rng.random((1, 3)))
    widths = [bar.get_width() for bar in why.plot(0).patches]
    assert min(widths) < 0 < max(widths)
    assert all(abs(width) <= 100 for width in widths)
    mpl.pyplot.close("all")


def test_models_show_what_was_chosen(tagger, rng):
    description = tagger.describe()
    Tags(description._repr_html_())
    assert description._repr_html_() in tagger._repr_html_()
    facts = dict(description.facts)
    assert facts["title"] == "'plot'"  # the column called title is always the same
    assert facts["influence"].startswith("Ridge(penalty=")
    assert "Average precision, leave-one-out" in facts
    text = str(description)
    for wanted in ("plot", "weight", "label rule", "reason"):
        assert wanted in text
    X, Y = rng.random((12, 2)), (rng.random((12, 3)) < 0.5).astype(int)
    model = SMLClassifier(RBF(2.0)).fit(X, Y)
    assert "RBF(gamma=2.0)" in model._repr_html_()
    chosen = AutoSMLClassifier(random_state=0).fit(X, Y)
    assert "What was tried" in chosen._repr_html_()
    assert str(chosen.describe().tables[0][1].iloc[0, 0]) in str(chosen.describe())


def test_a_model_that_is_not_fitted_has_its_diagram():
    assert "labeled instances" not in SMLClassifier()._repr_html_()
    with pytest.raises(Exception, match="not fitted"):
        SMLClassifier().describe()


def test_evaluations_show_every_criterion():
    Y = np.array([[1, 0], [0, 0]])
    html = evaluate(Y, Y, Y * 0.5)._repr_html_()
    Tags(html)
    assert html.count("<tr>") == 6
    assert ">1</td>" in html  # the row without a label is left out


def test_a_picture_of_learned_influence_has_the_most_similar_on_the_side_of_what_they_have():
    mpl.use("Agg")
    X = np.arange(12.0)[:, None]
    y = [{"low"} if x < 6 else {"high"} for x in X[:, 0]]
    y[2] = {"high"}
    model = SMLClassifier(RBF(0.05), normalizer=None, influence=Ridge(0.1), label_rule="fixed_size").fit(X, y)
    ax = model.explain([[1.0]]).plot(0)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    widths = {name: bar.get_width() for name, bar in zip(names, ax.patches, strict=True)}
    assert len(widths) == 10
    for name, width in widths.items():
        similarity = np.exp(-0.05 * (X[int(name), 0] - 1.0) ** 2)
        assert width == pytest.approx(similarity if "low" in y[int(name)] else -similarity)
    assert "rows that have it" in ax.get_xlabel()
    mpl.pyplot.close("all")
