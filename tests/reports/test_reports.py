from __future__ import annotations

import html.parser
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

from made_data import make_data
from simlabel import SMLClassifier
from simlabel.experiments import KFolds, RandomSplits, compare, rank_algorithms, summarize
from simlabel.experiments.reports import _figures as figures
from simlabel.experiments.reports import _sections as sections
from simlabel.experiments.reports import _summaries as summaries
from simlabel.experiments.reports import (
    comparison_report,
    evaluation_report,
    to_html,
    to_latex,
    to_markdown,
    write_report,
)
from simlabel.metrics import evaluate

EVIL = '<script>alert("x")</script> $\\alpha$ & "é"'


@pytest.fixture(scope="module")
def comparison():
    data = [make_data(), make_data("second", seed=1), make_data("third", seed=2)]
    object.__setattr__(data[0], "label_names", (EVIL, *data[0].label_names[1:]))
    return compare(data, ["sml", "knn", "br"], KFolds(3)), data


@pytest.fixture(scope="module")
def page(comparison):
    return comparison_report(*comparison, KFolds(3))


class Reader(html.parser.HTMLParser):
    """Collects what a page asks for and what it shows, and checks that elements are closed."""

    void = frozenset(["meta", "br", "link", "img", "input"])

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.asked, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.void:
            self.open.append(tag)
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.asked += [found[name] for name in ("src", "href", "xlink:href") if name in found]

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.void:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_is_whole_and_fetches_nothing(page):
    text = to_html(page)
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    assert all(address.startswith("#") for address in reader.asked)
    assert {address[1:] for address in reader.asked} <= set(reader.ids)
    for address in re.findall(r"url\(#([^)]*)\)", text):
        assert address in reader.ids
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


def test_names_are_shown_as_they_are_and_run_nothing(page):
    text = to_html(page)
    assert "<script" not in text
    reader = Reader()
    reader.feed(text)
    assert any(EVIL in part for part in reader.text)
    assert "\\textbackslash{}alpha\\$ \\&" in to_latex(page)


def test_every_part_is_there(page):
    titles = [section.title for section in page.sections]
    assert titles[0] == "Over all data sets"
    for part in ("Comparison", "Spread over the folds", "Labels", "A closer look at SML (the paper's)"):
        assert f"second: {part}" in titles
    text = to_html(page)
    for words in ("Critical-difference diagram", "Calibration", "Tuning curve", "Support", "Row "):
        assert words in text


def test_figures_are_those_of_the_comparison(comparison, page):
    found, _ = comparison
    series = found.of("second", "knn")
    expected = f"{series.mean('coverage'):.3f} ± {series.std('coverage'):.3f}"
    best = found.best("second", "coverage")
    bold = f"**{expected}**" if "knn" in best else expected
    row = next(
        line for line in to_markdown(page).split("## second: Comparison")[1].splitlines() if "KNeigh" in line
    )
    assert row.split(" | ")[3] == bold
    assert expected in to_html(page)
    latex = expected.replace("±", r"$\pm$")
    assert (rf"\textbf{{{latex}}}" if "knn" in best else latex) in to_latex(page)


def test_tables_have_a_cell_for_each_heading(page):
    blocks = [block for section in page.sections for block in section.blocks if hasattr(block, "headings")]
    assert len(blocks) > 10
    for block in blocks:
        assert all(len(row) == len(block.headings) for row in block.rows)
    latex = to_latex(page)
    examples = sum(1 for section in page.sections for block in section.blocks if hasattr(block, "examples"))
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}", r"\end{tabular}"):
        assert latex.count(rule) == len(blocks) + examples


def test_latex_is_a_document_of_labelled_tables(page):
    """No compiler is at hand: what must hold for any is checked."""
    latex = to_latex(page)
    assert latex.startswith("\\documentclass{article}\n\\usepackage{booktabs,graphicx}\n")
    assert latex.endswith("\\end{document}\n")
    open_ = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", latex):
        assert what == "begin" or open_.pop() == name
        open_ += [name] if what == "begin" else []
    assert not open_
    bare = re.sub(r"\\[\\{}]", "", latex)
    assert bare.count("{") == bare.count("}")
    labels = re.findall(r"\\caption\{.*\}\\label\{([a-z0-9:-]+)\}$", latex, re.MULTILINE)
    assert len(set(labels)) == len(labels) == latex.count(r"\begin{table}")
    for body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", latex, re.DOTALL):
        rows = [line for line in body[1].splitlines() if line.endswith(r"\\")]
        assert {line.count(" & ") + 1 for line in rows} == {len(body[0])}


def test_mean_ranks_are_in_every_form(comparison, page):
    (name, rank), *_ = comparison[0].ranking(["average_precision"]).mean_ranks.items()
    assert f"| {name} | {rank:.2f} |" in to_markdown(page)
    assert f"{name} & {rank:.2f}" in to_latex(page)


def test_one_evaluation_speaks_of_no_folds():
    data = make_data()
    model = SMLClassifier(random_state=0).fit(data.X, data.Y)
    outputs = model.outputs(data.X)
    evaluation = evaluate(data.Y, outputs.sets, outputs.weights)
    result = summarize(evaluation, data.Y, outputs.sets.sorted_indices(), outputs.probabilities, (0.0, 0.1))
    text = to_markdown(evaluation_report(model, "mine", data, result))
    assert "mine on made" in text
    for words in ("standard deviation", "fold", "best in bold", "split", "**"):
        assert words not in text
    once = compare(data, ["knn", "br"], RandomSplits(0.5))
    text = to_markdown(comparison_report(once, [data], RandomSplits(0.5)))
    assert "best in bold" in text
    assert "standard deviation" not in text
    assert "fold" not in text


class Always(DummyClassifier):
    """The same labels for every row, with their frequencies as probabilities."""

    def fit(self, X, y):
        self.share_ = np.asarray(y).mean(axis=0)
        return self

    def predict(self, X):
        return np.tile((self.share_ > 0.3).astype(int), (X.shape[0], 1))

    def predict_proba(self, X):
        return np.tile(self.share_, (X.shape[0], 1))


def test_one_answer_for_all_rows_is_not_called_calibrated():
    data = make_data()
    result = compare(data, {"always": Always(), "neighbours": KNeighborsClassifier()}, KFolds(3))
    text = to_html(comparison_report(result, [data], KFolds(3)))
    (caption,) = re.findall(r"Largest distance from the diagonal: ([^<]*)<", text)
    always, neighbours = caption.split("; neighbours")
    assert "it gives every row the same labels" in always
    assert "same labels" not in neighbours


def test_the_calibration_line_names_the_bin_that_a_reader_sees_off_the_diagonal(comparison):
    """Most pairs are near probability 0 and right there, so that their mean hides the others."""
    bins = ((100.0, 110.0, 10_000), (0.0, 0.0, 0), (15.0, 9.0, 60), (3.5, 0.0, 10), *[(0.0, 0.0, 0)] * 6)
    found = comparison[0]
    folds = [replace(found.results["made", "knn"][0], calibration=bins)]
    curve = summaries.calibration(folds)
    assert curve.counts.tolist() == [10_000, 60]  # 10 pairs are too few to say where the curve is
    assert curve.predicted.tolist() == pytest.approx([0.01, 0.25])
    assert curve.observed.tolist() == pytest.approx([0.011, 0.15])
    assert curve.expected_error == pytest.approx((10_000 * 0.001 + 60 * 0.1) / 10_060)
    one = replace(found, results={("made", "knn"): folds})
    caption = sections.calibration_block(one, "made").caption
    assert "0.100 (where it says 0.25, 0.15 are true, 60 pairs; mean over all pairs, ECE: 0.002)" in caption
    few = [replace(folds[0], calibration=((3.5, 0.0, 10), *[(0.0, 0.0, 0)] * 9))]
    assert summaries.calibration(few) is None


def test_summaries_add_up(comparison):
    found, data = comparison
    folds = found.results["made", "knn"]
    scores = summaries.label_scores(folds)
    np.testing.assert_array_equal(scores.support, data[0].Y.sum(axis=0))
    sizes, table = summaries.size_confusion(folds)
    true = np.asarray(data[0].Y.sum(axis=1)).ravel()
    assert [int(row.sum()) for row in table] == [int((true == size).sum()) for size in sizes]
    curve = summaries.calibration(folds)
    for shares in (curve.predicted, curve.observed):
        assert ((shares >= 0) & (shares <= 1)).all()
    assert sum(n for fold in folds for _, _, n in fold.calibration) == data[0].Y.shape[0] * data[0].n_labels
    labels, shares = summaries.co_occurrence(data[0], 3)
    Y = data[0].Y.toarray()
    for i, one in enumerate(labels):
        for j, other in enumerate(labels):
            both = int((Y[:, one] & Y[:, other]).sum())
            assert shares[i, j] == pytest.approx(both / Y[:, one].sum())
    assert sorted(Y.sum(axis=0), reverse=True)[:3] == Y.sum(axis=0)[labels].tolist()


def test_drawings_take_the_pages_colours(comparison):
    found, _ = comparison
    drawing = figures.rank_plot(rank_algorithms(found.means("one_error"), "one_error"))
    if drawing is not None:
        assert "SML" in drawing
        assert "critical difference 1.91" in drawing
        assert "var(--ink)" in drawing
    box = figures.box_plot({"a$b": np.array([1.0, 2.0, 3.0])}, "loss")
    assert "a$b" in box
    assert not re.search(r"#0[123]0[123]0\d", box)


def test_nothing_to_report_on_is_said():
    data = make_data()
    result = compare(data, ["no.such:Thing"], KFolds(3))
    with pytest.raises(ValueError, match=r"no algorithm ran through. no.such:Thing: .*not installed"):
        comparison_report(result, [data], KFolds(3))


def test_files(page, tmp_path):
    for ending, start in (
        (".html", "<!doctype html>"),
        (".md", "# Comparison"),
        (".tex", "\\documentclass{article}"),
    ):
        path = tmp_path / "new" / f"report{ending}"
        write_report(page, path)
        assert path.read_text(encoding="utf-8").startswith(start)
    with pytest.raises(ValueError, match=r"ends in .html, .htm, .md, .tex; got .*report.pdf"):
        write_report(page, tmp_path / "report.pdf")
