"""Names are data: names of labels, ids, columns and files are shown literally and never interpreted."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt
from rich.console import Console
from typer.testing import CliRunner

from made_data import make_data
from simlabel import SMLClassifier
from simlabel._utils.text import for_markdown, for_spreadsheet, for_terminal, for_tex
from simlabel.baselines import ADTBoostMH
from simlabel.cli import app
from simlabel.experiments import Comparison, Failure, KFolds, compare, rank_algorithms
from simlabel.experiments.reports import (
    Example,
    Examples,
    Report,
    Section,
    Table,
    TableCell,
    TextBlock,
    comparison_report,
    to_html,
    to_latex,
    to_markdown,
)

NAMES = [
    "[/x]",
    "[bold]",
    ":cat:",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\u202egnp",
    "two\nlines",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "&amp;",
    "a|b",
    "`code`",
    "![i](http://x.y/z)",
    "# head",
    "1. one",
    "- item",
    "***",
    "$x",
    "$\\frac$",
    "[5pt]",
    "*",
    "50% {a_b} ~^\\input{x}",
    "_hidden",
    'id="a" #010101 font: 9px x',
    "=HYPERLINK(1)",
    "+1",
    "-1",
    "@x",
]
FILE = "[bold] :cat: \x1b[31m$_\u202e"
WIDTH = 4000  # so that no name is broken over lines


class Page(HTMLParser):
    """What a page shows, and its elements."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.shown = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data):
        self.shown.append(data)


def only_shows(text):
    return all(line.isprintable() for line in text.split("\n"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file whose name, columns, texts and labels are all nasty, and a model fitted on it from the shell."""
    folder = tmp_path_factory.mktemp("names")
    rows = np.tile(np.eye(len(NAMES)), (2, 1))
    frame = pd.DataFrame(rows, columns=[f"{name} {k}" for k, name in enumerate(NAMES)])
    frame["tags"] = NAMES * 2
    frame.to_csv(folder / f"{FILE}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def run(folder):
    def invoke(*words):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            patch.setenv("COLUMNS", str(WIDTH))
            result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        assert only_shows(result.stdout), result.stdout
        assert only_shows(result.stderr), result.stderr
        return result

    reading = ("--label-column", "tags", "--separator", "§")
    invoke("fit", f"{FILE}.csv", "-o", f"{FILE}.simlabel", "--similarity", "linear", *reading)
    return lambda command, *words, read=True: invoke(command, *words, *(reading if read else ()))


def written(folder, *endings):
    return [folder / f"{FILE}{ending}" for ending in endings]


def check_reports(folder):
    html, markdown, tex = (path.read_text() for path in written(folder, ".html", ".md", ".tex"))
    assert "script" not in Page(html).tags
    assert "img" not in Page(html).tags
    drawn = Page(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))
    assert set(drawn.tags) <= {"h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td", "strong"}
    for text in (html, markdown, tex):
        assert only_shows(text)
    for name in NAMES:
        shown = for_terminal(name)
        assert any(shown in text for text in Page(html).shown)
        assert any(shown in text for text in drawn.shown)
        assert for_tex(name) in tex


def predicted(run, folder, model, data, option):
    run("predict", model, data, "-o", "out.csv", "--separator", "§", option, read=False)
    return pd.read_csv(folder / "out.csv", keep_default_na=False)["labels"].tolist()


@pytest.mark.parametrize("command", ["datasets", "explain", "predict", "evaluate", "compare"])
def test_names_are_data_to_every_command(run, folder, command):
    data, model = f"{FILE}.csv", f"{FILE}.simlabel"
    reports = [word for path in written(folder, ".html", ".md", ".tex") for word in ("--report", path.name)]
    if command == "datasets":
        shown = run("datasets", data).stdout
        assert sum(for_terminal(name) in shown for name in NAMES) >= 20  # as many as it lists
    elif command == "explain":
        shown = run("explain", model, data, "--rows", f"0-{len(NAMES) - 1}", read=False).stdout
        lines = [line.strip() for line in shown.splitlines()]
        for name in map(for_terminal, NAMES):
            assert any(line.startswith(f"{name}, ") and "of the resemblance" in line for line in lines)
    elif command == "predict":
        found = predicted(run, folder, model, data, "--raw")
        assert found == NAMES * 2
        safe = predicted(run, folder, model, data, "--spreadsheet-safe")
        assert safe == [for_spreadsheet(name) for name in NAMES] * 2
        assert not any(label.startswith(("=", "+", "-", "@")) for label in safe)
    elif command == "evaluate":
        shown = run("evaluate", model, data, *reports)
        assert for_terminal(FILE) in shown.stdout
        assert for_terminal(FILE) in shown.stderr
        check_reports(folder)
    else:
        shown = run("compare", data, "-a", "sml", "--folds", "2", *reports)
        assert for_terminal(FILE) in shown.stdout
        check_reports(folder)


def test_an_error_shows_names_too(folder):
    result = CliRunner().invoke(app, ["datasets", str(folder / "[/x]\x1b[31m:cat:\nwrote.csv")])
    assert result.exit_code == 1
    assert "[/x]\\x1b[31m:cat:" in result.stderr
    assert only_shows(result.stderr)


@pytest.fixture(scope="module")
def explanation():
    X = np.eye(len(NAMES))
    model = SMLClassifier("linear").fit(X, [{name} for name in NAMES], ids=NAMES)
    return model.explain(X, top=2)


def test_an_explanation_shows_names(explanation):
    stream = io.StringIO()
    Console(file=stream, width=WIDTH).print(explanation)  # with markup, as a user's own console has it
    for text in (stream.getvalue(), str(explanation)):
        assert only_shows(text)
    lines = [line.strip() for line in stream.getvalue().splitlines()]
    for name in NAMES:
        assert any(line.endswith(f": {for_terminal(name)}") for line in lines)
        assert any(line.startswith(f"{for_terminal(name)} ") and "100.0%" in line for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_figures_show_names(explanation, name):
    from matplotlib.figure import Figure

    figure, shown = Figure(), for_terminal(name)
    query = NAMES.index(name)
    assert explanation.plot(query, figure.add_subplot()) is not None
    texts = [text.strip() for text in drawn_texts(figure)]
    assert f"Query {query}: {shown}" in texts  # the label as a title, and of an instance its id
    assert any(text.startswith(f"{shown}, ") and "%" in text for text in texts)
    assert shown in texts
    tree = ADTBoostMH(n_rounds=2).fit([[0.0], [1.0]] * 4, [{name}, {"b"}] * 4)
    figure = Figure()
    tree.plot(feature_names=[name], ax=figure.add_subplot())
    assert any(f"{shown} <" in text for text in drawn_texts(figure))
    assert only_shows(tree.to_text(feature_names=[name]))


@pytest.mark.parametrize("start", range(0, len(NAMES), 8))
def test_drawings_of_reports_show_names(start):
    data, names = make_data(), NAMES[start : start + 8]
    folds = compare(data, ["knn"], KFolds(3)).results["made", "knn"]
    titles = {f"a{k}": name for k, name in enumerate(names)}
    found = Comparison("3 folds", titles, {("made", name): folds for name in titles})
    page = to_html(comparison_report(found, [data], KFolds(3)))
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):  # box plots and calibration curves
        shown = [text.strip() for text in Page(drawing).shown]
        for name in map(for_terminal, names):
            assert name in shown or f"{name[:21]}…" in shown
        assert "img" not in Page(drawing).tags


def drawn_texts(figure):
    with mpl.rc_context({"svg.fonttype": "none"}):
        stream = io.StringIO()
        figure.savefig(stream, format="svg")
    return Page(stream.getvalue()).shown


@pytest.mark.parametrize("name", NAMES)
def test_reports_show_names(name):
    example = Example(name, ((name, True), (name, False)), (name,), (name,))
    table = Table((name, name), ((TableCell(name), TableCell(name)),), name)
    blocks = (TextBlock(name), table, Examples((example,)))
    page, shown = Report(name, name, ((name, name),), (Section(name, blocks),)), for_terminal(name)
    found = Page(to_html(page))
    assert not {"script", "img"} & set(found.tags)
    assert sum(shown in text for text in found.shown) >= 12
    drawn = Page(MarkdownIt("commonmark", {"html": True}).enable("table").render(to_markdown(page)))
    assert set(drawn.tags) == {"h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert sum(shown in text for text in drawn.shown) >= 12
    lines = re.sub(r"\\label\{[a-z0-9:-]*\}", "", to_latex(page)).splitlines()
    assert sum(for_tex(name) in line for line in lines) == 8


@pytest.mark.parametrize("name", NAMES)
def test_tex_has_nothing_left_to_obey(name):
    words = r"\\text(backslash|asciitilde|asciicircum|bar)\{\}"
    commands = words + r"|\\[&%$#_{}]|\$[<>]\$|\{[][*]\}"
    assert not re.search(r"[\\&%$#_{}~^\[\]*\n]", re.sub(commands, "", for_tex(name)))


def test_links_without_brackets_are_no_links():
    drawn = MarkdownIt("gfm-like", {"linkify": False}).render(for_markdown("http://a.b www.a.b"))
    assert "<a" not in drawn
    assert for_markdown("http://a.b www.a.b") == r"http\://a.b www\.a.b"


def test_rankings_and_failures_are_lines():
    names = ["a\x1b[31m", "b\n", "c"]
    means = pd.DataFrame(np.random.default_rng(0).random((5, 3)), columns=names)
    assert str(rank_algorithms(means, "average_precision")).count("\n") == 2
    assert only_shows(str(rank_algorithms(means, "average_precision")))
    assert str(Failure("d\x1b", "a", "s", "no\n  such")) == "a on d\\x1b, s: no such"
    assert Comparison("p", {}, {}).failures == ()
