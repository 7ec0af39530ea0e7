"""Explanations of tables: titles, and words whose contributions add up to the score."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from simlabel import SMLClassifier, Tagger, load
from simlabel.datasets import Dataset
from simlabel.experiments import summarize
from simlabel.experiments.reports import evaluation_report
from simlabel.metrics import evaluate
from simlabel.model.inspection import explanation_texts
from simlabel.ridge import Ridge
from simlabel.tables import Cells, Column, TableEncoder, label_sets, title_column

FILMS = pd.DataFrame(
    {
        "code": [f"f{i}" for i in range(6)],
        "title": ["Jaws", "The Meg", "Deep Blue Sea", "Notting Hill", "Love Actually", "About Time"],
        "plot": [
            "a shark hunts swimmers off a beach",
            "an old shark hunts a crew, deep in the sea",
            "sharks hunt scientists under the sea",
            "a film star falls in love with a bookseller",
            "many people fall in love at Christmas",
            "he falls in love again and again",
        ],
        "year": [1975, 2018, 1999, 1999, 2003, 2013],
        "kind": ["film", "film", "film", "film", "film", "show"],
    }
)
TAGS = ["horror, sea", "horror, sea", "horror, sea", "romance", "romance", "romance"]
NEW = pd.DataFrame(
    {
        "code": ["n0", "n1"],
        "title": ["Open Water", "你好 love"],
        "plot": ["two divers; a shark-hunt in the sea! sea?", "love 你好世界, and a shark"],
        "year": [2003, None],
        "kind": ["film", "show"],
    }
)
COLUMNS = {"title": "text", "plot": "text", "year": "number", "kind": "category"}


@pytest.fixture(scope="module")
def tagger():
    return Tagger(COLUMNS, id_column="code").fit(FILMS, TAGS)


@pytest.fixture(scope="module")
def why(tagger):
    return tagger.explain(NEW, top=3)


def test_words_and_columns_add_up_to_the_score(tagger, why):
    scores = tagger.label_weights(NEW)
    for query in range(2):
        for k, name in enumerate(tagger.classes_):
            words, columns = why.words(query, name), why.by_column(query, name)
            assert words["contribution"].sum() + why.mean[k] == pytest.approx(scores[query, k], abs=1e-12)
            assert columns["contribution"].sum() + why.mean[k] == pytest.approx(scores[query, k], abs=1e-12)
            assert words["contribution"].abs().is_monotonic_decreasing
            assert not words.duplicated(["column", "term"]).any()


def test_people_see_words_of_the_query_and_no_pieces_of_them(why):
    words = why.words(0, "sea")
    seen = set(words.loc[words["column"] == "plot", "term"])
    assert {"shark-hunt", "sea", "divers"} <= seen
    for term in seen:
        assert all(word in "two divers; a shark-hunt in the sea! sea?" for word in term.split())
    assert {"love", "shark"} <= set(why.words(1, "sea")["term"])


def test_numbers_and_categories_are_shown_as_they_stand_in_the_table():
    """With equal weights: six films do not settle how much their columns should count."""
    encoder = TableEncoder({"code": "ignore", **COLUMNS})
    model = SMLClassifier("linear", normalizer=None, influence=Ridge(0.1), encoder=encoder)
    words = model.fit(FILMS, label_sets(TAGS, ", ")).explain(NEW).words(0, "sea")
    assert words.loc[words["column"] == "year", "term"].tolist() == ["2003"]
    assert set(words.loc[words["column"] == "kind", "term"]) == {"film"}


def test_other_words_change_nothing_in_what_a_word_brings(tagger):
    """Without the normalized length: the sum over features is the score of a row that has only them."""
    one = tagger.explain(pd.DataFrame({"plot": ["sea"]}).reindex(columns=NEW.columns))
    words = one.words(0, "sea")
    assert words.loc[words["column"] == "plot", "term"].tolist() == ["sea"]


def test_sums_without_learned_influence_have_words_too():
    model = SMLClassifier("linear", normalizer=None, encoder="table").fit(FILMS, TAGS_AS_SETS)
    why = model.explain(NEW)
    assert model.title_column_ == "title"
    scores = model.label_weights(NEW)
    for k, name in enumerate(model.classes_):
        assert why.words(0, name)["contribution"].sum() == pytest.approx(scores[0, k])


TAGS_AS_SETS = [set(text.split(", ")) for text in TAGS]


def test_words_are_refused_where_a_score_is_no_sum_over_them(rng):
    model = SMLClassifier("rbf", encoder="table").fit(FILMS, TAGS_AS_SETS)
    with pytest.raises(ValueError, match=r"compared by inner products.*not with RBF"):
        model.explain(NEW).words(0, "sea")
    plain = SMLClassifier("linear").fit(rng.random((4, 2)), [{"a"}, {"b"}, {"a"}, {"b"}])
    with pytest.raises(ValueError, match=r"Linear\(\) and no encoder"):
        plain.explain(rng.random((1, 2))).words(0, "a")


def test_rows_are_shown_by_title(tagger, why):
    text = str(why)
    assert "Query 0, 'Open Water': " in text
    sentence = next(line for line in text.splitlines() if line.startswith("  sea, "))
    assert "because of" in sentence
    assert "'sea'" in sentence
    assert " in plot" in sentence
    frame = why.to_frame().query("what == 'label'")
    assert (frame["title"] == frame["id"].map(FILMS.set_index("code")["title"])).all()
    nearest = why.nearest(0, "sea", n=2)
    assert list(nearest.columns) == ["id", "title", "similarity"]
    assert set(nearest["title"]) <= {"Jaws", "The Meg", "Deep Blue Sea"}
    doubtful = tagger.suspicious_labels(top=3)
    assert (doubtful["title"] == doubtful["id"].map(FILMS.set_index("code")["title"])).all()


def test_columns_of_a_table_are_named_and_sorted(tagger, why):
    frame = why.columns(0, "f0")
    assert frame["column"].str.contains("plot: shark").any()
    assert frame["term"].is_monotonic_decreasing
    X, Q = tagger._model.scorer.references.X, tagger._model.normalized(tagger._check_queries(NEW)[1])
    assert frame["term"].sum() == pytest.approx((Q[[0]] @ X[[0]].T).toarray()[0, 0])


def test_the_title_column_is_found_kept_and_saved(tmp_path, tagger):
    assert tagger.title_column_ == "title"
    tagger.save(tmp_path / "films.simlabel")
    again = load(tmp_path / "films.simlabel")
    assert str(again.explain(NEW)) == str(tagger.explain(NEW))
    chosen = Tagger(COLUMNS, title_column="plot", label_separator=None).fit(FILMS, ["a", "b"] * 3)
    assert chosen.title_column_ == "plot"
    chosen.save(tmp_path / "plots.simlabel")
    assert load(tmp_path / "plots.simlabel").title_column_ == "plot"
    none = Tagger(COLUMNS, title_column=None).fit(FILMS, TAGS)
    none.save(tmp_path / "none.simlabel")
    assert "Query 0: " in str(load(tmp_path / "none.simlabel").explain(NEW))
    with pytest.raises(ValueError, match="title_column: there is no column 'heading'"):
        Tagger(title_column="heading").fit(FILMS, TAGS)


@pytest.mark.parametrize(
    ("names", "kinds", "wanted"),
    [
        (["plot", "Subject"], ["text", "category"], "Subject"),
        (["name", "title"], ["text", "text"], "title"),
        (["plot", "note"], ["text", "text"], "note"),
        (["year"], ["number"], None),
        (["title", "plot"], ["constant", "text"], "plot"),
    ],
)
def test_what_is_taken_for_a_title(names, kinds, wanted):
    cells = Cells(tuple(names), [("a long story of a shark", "short")[: len(names)]])
    assert title_column(cells, [Column(*pair) for pair in zip(names, kinds, strict=True)]) == wanted


def test_a_plain_list_of_texts_is_shown_by_its_texts():
    why = Tagger().fit(FILMS["plot"].tolist(), TAGS).explain(["a shark in the deep sea"])
    assert "\nQuery 0, 'a shark in the deep sea': " in str(why)
    assert np.isfinite(why.scores).all()


def test_reports_show_titles_and_words(tagger):
    Y = sp.csr_array(np.array([[1, 0, 1], [0, 1, 0]], dtype=np.int8))
    data = Dataset("films", NEW, Y, tuple(map(str, tagger.classes_)), tuple(NEW.columns))
    outputs = tagger.outputs(NEW)
    evaluation = evaluate(Y, outputs.sets, outputs.weights)
    result = summarize(evaluation, Y, outputs.sets.sorted_indices(), outputs.probabilities, (0.0, 0.1))
    *_, block = evaluation_report(tagger, "films", data, result).sections[-1].blocks
    assert {each.title for each in block.examples} == set(NEW["title"])
    shown = {each.title: " ".join(each.reasons) for each in block.examples}["Open Water"]
    assert "sea, " in shown
    assert " in plot" in shown
    assert "'The Meg'" in shown


def museum(n=200):
    """Objects of four centuries, in German; every title is there several times."""
    rng = np.random.default_rng(0)
    year, width = rng.integers(1500, 1900, n), rng.integers(10, 90, n)
    frame = pd.DataFrame(
        {
            "Titel": [f"{'Große Straße' if y < 1700 else 'Schloß am Fluß'} Nr. {y % 5}" for y in year],
            "Datierung": year,
            "Eingang": [f"{y + 5}-03-01" for y in year],
            "Breite": width,
            "Technik": np.where(rng.random(n) < 0.5, "Öl auf Holz", "Weiß gehöht"),
        }
    )
    age, size = np.where(year < 1700, "alt", "neu"), np.where(width > 50, "breit", "schmal")
    return frame, [", ".join(pair) for pair in zip(age, size, strict=True)]


@pytest.fixture(scope="module")
def objects():
    queries = pd.DataFrame(
        {
            "Titel": ["STRASSE am Fluß", "Schloß"],
            "Datierung": [1591, None],
            "Eingang": ["1880-03-01", "1700-01-01"],
            "Breite": [80, 50],
            "Technik": ["Weiß gehöht", "Öl auf Holz"],
        }
    )
    kinds = {"Titel": "text", "Datierung": "number", "Eingang": "date", "Breite": "number"}
    encoder = TableEncoder({**kinds, "Technik": "category"})
    frame, tags = museum()
    model = SMLClassifier("linear", normalizer=None, influence=Ridge(0.1), encoder=encoder)
    return model.fit(frame, label_sets(tags, ", ")).explain(queries)


def test_words_are_spelled_as_in_the_cell(objects):
    words = objects.words(0, "alt")
    shown = words.groupby("column")["term"].agg(set)
    assert {"STRASSE", "am", "Fluß", "STRASSE am", "am Fluß"} >= shown["Titel"] >= {"STRASSE", "Fluß"}
    assert shown["Technik"] == {"Weiß gehöht"}


@pytest.mark.parametrize("apostrophe", ["'", "\u2019"])
def test_a_letter_that_an_apostrophe_splits_off_is_shown_with_its_word(apostrophe):
    titles = [
        f"The devil{apostrophe}s advocate",
        "A plan s",
        f"O{apostrophe}Brien returns",
        "Plan of the sea",
    ]
    y = [{"drama"}, {"other"}, {"drama"}, {"other"}] * 4
    encoder = TableEncoder({"title": "text"})
    model = SMLClassifier("linear", normalizer=None, influence=Ridge(0.1), encoder=encoder)
    queries = pd.DataFrame({"title": titles[:3], "n": [1, 2, 3]})
    why = model.fit(pd.DataFrame({"title": titles * 4, "n": range(16)}), y).explain(queries)
    terms = [set(why.words(i, "drama")["term"]) for i in range(3)]
    assert f"devil{apostrophe}s" in terms[0]
    assert f"devil{apostrophe}s advocate" in terms[0]
    assert "s" in terms[1]  # it stands alone
    assert f"O{apostrophe}Brien" in terms[2]
    assert not any({"s", "o", "O"} & each for each in (terms[0], terms[2]))
    weights = model.label_weights(queries)
    for i in range(3):  # nothing is lost
        found = why.words(i, "drama")["contribution"].sum() + why.mean[0]
        assert found == pytest.approx(weights[i, 0])


def test_numbers_and_dates_have_a_direction(objects):
    where = objects.direction
    assert where(0, "Datierung") == "earlier than most"  # whole numbers from 1500 to 1900 are years
    assert where(0, "Eingang") == "later than most"
    assert where(0, "Breite") == "higher than most"
    assert where(1, "Datierung") == ""
    frame, _ = museum()
    assert where(1, "Breite") == f"close to the middle value {frame['Breite'].median():g}"
    assert where(0, "Titel") == where(0, "numbers and dates") == ""
    sentence = next(each for each in explanation_texts(objects, 0) if each.name == "breit").sentence
    assert "because Breite 80 is higher than most" in sentence


def test_a_sentence_names_the_first_words_of_its_table(why, objects):
    named = 0
    for explanation in (why, objects):
        for query in range(2):
            for each in explanation_texts(explanation, query):
                if each.words is None:
                    continue
                first = [bar for bar in each.words.rows if bar.value > 0 and not bar.faint]
                enough = [bar for bar in first[:3] if bar.value >= 0.25 * first[0].value]
                because = each.sentence.split("; ")[0]
                named += len(enough)
                for bar in enough:
                    assert bar.names[0].split(" (")[0] in because
                    assert bar.names[1] in because
    assert named > 5


def test_shares_add_up_to_all(why, objects):
    for explanation in (why, objects):
        for query in range(2):
            for each in explanation_texts(explanation, query):
                for bars in (each.words, *each.instances):
                    if bars is not None:
                        shares = [float(bar.notes[0].rstrip("%")) for bar in bars.rows]
                        assert sum(shares) == pytest.approx(100, abs=0.05 * len(shares) + 0.01)


def test_no_title_is_listed_twice_as_the_closest(objects):
    for query in range(2):
        for each in explanation_texts(objects, query):
            titles = [bar.names[1] for bar in each.nearest.rows] if each.nearest else []
            assert len({title.split(" (")[0] for title in titles}) == len(titles)
            quoted = each.sentence.split("the closest")[-1].split("'")[1::2]
            assert len({title.split(" (")[0] for title in quoted}) == len(quoted)
    assert " rows)' and '" in " ".join(each.sentence for each in explanation_texts(objects, 0))


@pytest.mark.parametrize("top", [1, 2, 8, 20])
@pytest.mark.parametrize("labels", [None, ["sea", "romance"]], ids=["predicted", "asked for"])
def test_a_sentence_names_words_of_the_table_below_it(tagger, top, labels):
    why = tagger.explain(NEW, top, labels)
    n_named = 0
    for query in range(len(NEW)):
        for each in explanation_texts(why, query):
            shown = {row.names[0] for row in each.words.rows}
            for part in ("because of ", "for it: ", "against it: "):
                _, found, rest = each.sentence.partition(part)
                named = re.findall(r"'([^']+)'", re.split(";|similar rows", rest)[0]) if found else []
                assert set(named) <= shown
                n_named += len(named)
    assert n_named > 0
