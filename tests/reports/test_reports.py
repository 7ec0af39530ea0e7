"""What reports contain, as HTML, Markdown and LaTeX."""

from __future__ import annotations

import html.parser
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

from made_data import make_data
from simlabel import SMLClassifier
from simlabel._utils.text import one_line
from simlabel.datasets import Dataset
from simlabel.experiments import KFolds, RandomSplits, Reproduction, compare, summarize
from simlabel.experiments.reports import (
    comparison_report,
    evaluation_report,
    reproduction_report,
    to_html,
    to_latex,
    to_markdown,
    write_report,
)
from simlabel.guarantees import Recall
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


def blocks_of(page, title):
    return next(section.blocks for section in page.sections if section.title == title)


def table_of(page, title, caption):
    """The cells of the table whose caption contains a text, without the heading and the row names."""
    found = next(one for one in blocks_of(page, title) if caption in getattr(one, "caption", ""))
    return {row[0].text: [cell.text for cell in row[1:]] for row in found.rows}


def picture_captions(page, title):
    return [one.caption for one in blocks_of(page, title) if hasattr(one, "svg")]


class Reader(html.parser.HTMLParser):
    """Collect addresses and texts of a page, and check that elements are closed."""

    void = frozenset(["meta", "br", "link", "img", "input"])

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.addresses, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.void:
            self.open.append(tag)
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.addresses += [found[name] for name in ("src", "href", "xlink:href") if name in found]

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
    assert all(address.startswith("#") for address in reader.addresses)
    assert {address[1:] for address in reader.addresses} <= set(reader.ids)
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


def test_latex_is_a_document_of_labeled_tables(page):
    """Check what any LaTeX compiler requires."""
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
    text = to_markdown(evaluated(SMLClassifier(random_state=0).fit(data.X, data.Y), data))
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
    result = compare(data, {"always": Always(), "neighbors": KNeighborsClassifier()}, KFolds(3))
    text = to_html(comparison_report(result, [data], KFolds(3)))
    (caption,) = re.findall(r"Largest distance from the diagonal: ([^<]*)<", text)
    always, neighbors = caption.split("; neighbors")
    assert "it gives every row the same labels" in always
    assert "same labels" not in neighbors


def test_the_caption_of_the_calibration_plot_names_the_worst_bin(comparison):
    """Most pairs have a probability near 0 and are calibrated there: their mean error hides the others."""
    bins = ((100.0, 110.0, 10_000), (0.0, 0.0, 0), (15.0, 9.0, 60), (3.5, 0.0, 10), *[(0.0, 0.0, 0)] * 6)
    found, data = comparison
    folds = [replace(found.results["made", "knn"][0], calibration=bins)]
    one = replace(found, results={("made", "knn"): folds})
    page = comparison_report(one, data[:1], KFolds(3))
    (caption,) = picture_captions(page, "Label set sizes and calibration")
    assert (
        "KNeighbors 0.100 (predicted 0.25, observed 0.15, 60 pairs; expected calibration error: 0.002)"
        in caption
    )
    assert pytest.approx(0.002, abs=5e-4) == (10_000 * 0.001 + 60 * 0.1) / 10_060
    few = [replace(folds[0], calibration=((3.5, 0.0, 10), *[(0.0, 0.0, 0)] * 9))]
    page = comparison_report(replace(one, results={("made", "knn"): few}), data[:1], KFolds(3))
    assert not picture_captions(page, "Label set sizes and calibration")


def test_the_tables_of_labels_are_those_of_the_folds(comparison, page):
    found, data = comparison
    folds = found.results["second", "sml"]
    hits, predicted, true = (
        np.sum([getattr(fold, name) for fold in folds], axis=0) for name in ("hits", "predicted", "true")
    )
    shown = table_of(page, "second: Labels", "on each label")
    assert [int(cells[-1]) for cells in shown.values()] == sorted(true.tolist(), reverse=True)
    for k, name in enumerate(data[1].label_names):
        f1 = 2 * hits[k] / (predicted[k] + true[k])
        assert shown[name] == [
            f"{hits[k] / predicted[k]:.3f}" if predicted[k] else "-",
            f"{hits[k] / true[k]:.3f}",
            f"{f1:.3f}",
            str(data[1].Y.toarray()[:, k].sum()),
        ]
    Y = data[1].Y.toarray()
    shown = table_of(page, "second: Labels", "Share of the rows")
    names = list(shown)
    assert [Y[:, data[1].label_names.index(name)].sum() for name in names] == sorted(Y.sum(axis=0))[::-1]
    for name, cells in shown.items():
        one = Y[:, data[1].label_names.index(name)]
        for other, cell in zip(names, cells, strict=True):
            both = int((one & Y[:, data[1].label_names.index(other)]).sum())
            assert cell == (f"{both / one.sum():.2f}" if both else "·")


def test_the_table_of_sizes_counts_each_row_once(comparison, page):
    _, data = comparison
    shown = table_of(page, "second: Label set sizes and calibration", "true number")
    true = np.asarray(data[1].Y.sum(axis=1)).ravel()
    for size, cells in shown.items():
        assert sum(int(cell) for cell in cells if cell != "·") == (true == int(size)).sum()


def test_large_tables_are_cut_merged_and_folded():
    rng = np.random.default_rng(0)
    Y = (rng.random((80, 40)) < np.linspace(0.05, 0.95, 80)[:, None]).astype(np.int8)
    names = tuple(f"label {k}" for k in range(40))
    data = Dataset("wide", rng.normal(size=(80, 4)), sp.csr_array(Y), names, tuple("abcd"))
    page = comparison_report(compare(data, ["knn"], KFolds(3)), [data], KFolds(3))
    labels, together = blocks_of(page, "Labels")
    assert (len(labels.rows), labels.folded) == (40, True)
    assert (len(together.rows), len(together.headings), together.upright) == (20, 21, True)
    assert "(the 20 most frequent)" in together.caption
    sizes = blocks_of(page, "Label set sizes and calibration")[0]
    assert (len(sizes.rows), len(sizes.headings)) == (15, 16)
    assert sizes.headings[-1].endswith("+")
    counts = [int(cell.text.replace("·", "0")) for row in sizes.rows for cell in row[1:]]
    assert sum(counts) == 80


def test_seconds_and_the_facts_at_the_head(comparison, page):
    found, data = comparison
    folds = found.results["third", "br"]
    shown = table_of(page, "third: Comparison", "Time, over all folds")
    assert shown[found.titles["br"]] == [
        f"{sum(fold.fit_seconds for fold in folds):.1f}",
        f"{sum(fold.predict_seconds for fold in folds):.1f}",
    ]
    assert dict(page.facts) == {
        "data sets": "3",
        "rows in total": "180",
        "algorithms": "3",
        "test parts per data set": "3",
    }
    one = comparison_report(found, data[1:2], KFolds(3))
    assert dict(one.facts) == {
        "rows": "60",
        "features": "6",
        "labels": "4",
        "labels per row": f"{data[1].Y.sum() / 60:.2f}",
        "algorithms": "3",
        "test parts per data set": "3",
    }


def test_box_plots_need_three_folds():
    data = make_data()
    for folds, drawn in ((2, False), (3, True)):
        page = comparison_report(compare(data, ["knn"], KFolds(folds)), [data], KFolds(folds))
        assert ("Spread over the folds" in [section.title for section in page.sections]) is drawn
    (pictures,) = blocks_of(page, "Spread over the folds")
    assert len(pictures.pictures) == 5  # the paper's criteria
    assert "KNeighbors" in pictures.pictures[0].svg


def test_failures_and_warnings_are_notes(comparison):
    found, data = comparison
    fold = replace(found.results["made", "knn"][0], notes=("no neighbors\nfound",))
    results = {("made", "knn"): (fold, fold)}
    failed = compare(data[0], ["no.such:Thing"], KFolds(3)).failures
    page = comparison_report(replace(found, results=results, failures=failed), data[:1], KFolds(3))
    text, warned = blocks_of(page, "Notes")
    assert text.text.startswith("Left out: no.such:Thing")
    assert [[cell.text for cell in row] for row in warned.rows] == [
        ["made", "KNeighbors", "no neighbors found"]
    ]


def test_examples_show_predicted_missed_and_decisive_rows():
    data = make_data()
    model = SMLClassifier(random_state=0).fit(data.X, [set(row) for row in label_names(data)])
    *_, block = blocks_of(evaluated(model, data), "A closer look")
    assert len(block.examples) == 6
    for example in block.examples:
        row = int(example.title.removeprefix("Row "))
        true = set(label_names(data)[row])
        (predicted,) = model.predict_sets(data.X[[row]])
        assert [name for name, _ in example.predicted] == list(predicted)
        assert {name for name, right in example.predicted if right} == true & set(predicted)
        assert set(example.missed) == true - set(predicted)
        assert bool(example.reasons) == bool(predicted)
        assert all(
            re.fullmatch(rf"row \d+: [\d.]+% (for|against) {predicted[0]}", one) for one in example.reasons
        )


def label_names(data):
    return [[data.label_names[k] for k in data.Y[[row]].indices] for row in range(data.n_rows)]


def evaluated(model, data, measured=()):
    outputs = model.outputs(data.X)
    evaluation = evaluate(data.Y, outputs.sets, outputs.weights)
    result = summarize(evaluation, data.Y, outputs.sets.sorted_indices(), outputs.probabilities, (0.0, 0.1))
    return evaluation_report(model, "mine", data, result, measured=measured)


def test_an_evaluation_shows_criteria_guarantees_and_the_model():
    data = make_data()
    sets = [set(row) for row in label_names(data)]
    model = SMLClassifier(random_state=0).fit(data.X, sets)
    fitted_guarantee = model.guarantee(Recall(0.8))
    measured = Recall(0.8).measure(sets, model.predict_sets(data.X, guarantee=fitted_guarantee))
    page = evaluated(model, data, [(fitted_guarantee, measured)])
    assert (page.title, page.subtitle) == ("mine on made", str(model.similarity_))
    assert dict(page.facts) == {"rows": "60", "labels": "4", "labeled rows in the model": "60"}
    outputs = model.outputs(data.X)
    wanted = evaluate(data.Y, outputs.sets, outputs.weights)
    ((cells,),) = [table_of(page, "Criteria", "made").values()]
    assert cells[0] == f"{wanted['hamming_loss']:.3f}"
    shown = table_of(page, "Sets with a guarantee", "Guaranteed")["recall"]
    assert shown[:2] == ["0.8", f"{measured.value:.3f} ± {measured.error:.3f}"]
    assert [block.text for block in blocks_of(page, "Sets with a guarantee")[1:]] == [
        one_line(fitted_guarantee)
    ]


def test_a_reproduction_shows_published_and_measured_values_and_claims():
    data = make_data("yeast")
    reproduction = Reproduction(data, compare(data, ["sml", "mlknn"], KFolds(2)))
    page = reproduction_report(reproduction, KFolds(2))
    assert page.title == "The paper's table on yeast, reproduced"
    values, claims = page.sections[0].blocks
    assert len(values.rows) == 2 * 5
    for row, cells in zip(reproduction.rows(), values.rows, strict=True):
        texts = [cell.text for cell in cells]
        assert texts[0] == row.algorithm
        assert texts[2:4] == [str(row.published), str(row.measured)]
        assert texts[4] == ("yes" if row.agrees else "no")
    assert [row[0].text for row in claims.rows] == [claim.text for claim in reproduction.claims()]
    assert [row[1].text for row in claims.rows] == [claim.verdict for claim in reproduction.claims()]
    assert "yeast: the paper" in values.caption
    assert page.sections[1].title == "Comparison"


def test_drawings_take_the_colors_of_the_page(page):
    text = to_html(page)
    assert "critical difference 1.91" in text  # of three algorithms on three data sets
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(drawings) > 15
    for drawing in drawings:
        assert "var(--ink)" in drawing
        assert not re.search(r"#0[123]0[123]0\d", drawing)


def test_nothing_to_report_on_is_printed():
    data = make_data()
    result = compare(data, ["no.such:Thing"], KFolds(3))
    with pytest.raises(ValueError, match=r"no algorithm finished. no.such:Thing: .*not installed"):
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
