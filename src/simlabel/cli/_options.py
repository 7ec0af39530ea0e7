"""Options that several commands share, alone and in groups that `command` expands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from simlabel.cli._console import say

if TYPE_CHECKING:
    from simlabel.datasets import Dataset
    from simlabel.experiments import Protocol
    from simlabel.experiments.reports import Report
    from simlabel.guarantees import Guarantee

# Names are written out so that --help needs no import of the packages that define them;
# tests/cli/test_imports.py compares both.
FormatOption = Literal[
    "arff", "svmlight", "xmc", "parquet", "npz", "npy", "csv", "excel", "jsonl", "json"
]  # those of FORMATS, then those of TABLE_FORMATS
CRITERION_NAMES = ("hamming_loss", "one_error", "coverage", "ranking_loss", "average_precision")
MORE_CRITERION_NAMES = (
    *("subset_accuracy", "f1_micro", "f1_macro", "f1_instance", "precision@1", "precision@3", "precision@5"),
    *("ndcg@1", "ndcg@3", "ndcg@5", "psp@1", "psp@3", "psp@5"),
)
_KINDS = ("text", "category", "number", "multi", "date", "ignore")
_USUAL = ("f1_micro", "f1_macro", "f1_instance")  # in addition to the paper's
_LABELS_HELP = (
    "Label columns. For arff: names separated by commas, a number n (the first n columns; -n: the last n), "
    "or a Mulan XML file if it is not next to the data; for parquet and csv: names separated by commas; "
    "for npy: the file of labels (npy, npz, txt, CSV, JSON lines)."
)
_data = partial(typer.Option, rich_help_panel="Data format")
_split = partial(typer.Option, rich_help_panel="Train/test split")
_level = partial(typer.Option, min=0.0, max=1.0, rich_help_panel="Guarantees (levels such as 0.9)")
_kind = partial(
    typer.Option, rich_help_panel="Column types of a table, if not detected correctly (repeatable)"
)
_row = partial(typer.Option, rich_help_panel="Rows of a table")


ModelArgument = Annotated[Path, typer.Argument(help="A model file written by fit.")]
RowsArgument = Annotated[Path, typer.Argument(help="Input file. Label columns, if present, are ignored.")]
LabeledDataArgument = Annotated[str, typer.Argument(help="A labeled file, or the name of a data set.")]
IndexBase = Annotated[
    int | None, typer.Option(min=0, max=1, help="Index of the first feature in an svmlight file.")
]
Folds = Annotated[int, _split(help="Number of cross-validation folds.", min=2)]
Seed = Annotated[int, typer.Option(min=0, help="Random seed of shuffles and algorithms.")]
Criteria = Annotated[
    str,
    typer.Option(
        help=f"Metrics to show: 'paper' ({', '.join(CRITERION_NAMES)}), 'usual' (these and "
        f"{', '.join(_USUAL)}), 'all', or names separated by commas: {', '.join(MORE_CRITERION_NAMES)}."
    ),
]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe/--raw",
        help="In CSV, put an apostrophe before text that a spreadsheet would interpret as a formula.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_FILE = ("delimiter", "format", "encoding", "sheet", "max_gib")
_LABELS = ("labels", "label_prefix", "label_column", "separator")


@dataclass(frozen=True)
class Reading:
    """Options that describe how a data file is read."""

    labels: Annotated[str | None, _data(help=_LABELS_HELP)] = None
    label_prefix: Annotated[str | None, _data(help="Prefix of the names of label columns.")] = None
    label_column: Annotated[
        str | None,
        _data(help="Column that lists the labels of each row; for a model file by default that of fit."),
    ] = None
    separator: Annotated[
        str | None,
        _data(
            help="Separator of the labels in that column.",
            show_default="';'; for a raw table, detected by fit",
        ),
    ] = None
    delimiter: Annotated[str | None, _data(help="Delimiter of a CSV file; detected by default.")] = None
    missing: Annotated[
        Literal["mean", "median", "most_frequent"] | None, _data(help="Value to impute for missing features.")
    ] = None
    format: Annotated[FormatOption | None, _data(help="File format; detected by default.")] = None
    encoding: Annotated[
        str | None, _data(help="Encoding of a text file, such as latin-1; detected by default.")
    ] = None
    sheet: Annotated[str | None, _data(help="Sheet of a workbook; the first by default.")] = None
    max_gib: Annotated[
        float | None,
        _data(
            help="Memory limit in GiB for reading the file; by default it depends on the file size.", min=0
        ),
    ] = None

    @property
    def table(self) -> dict[str, Any]:
        """The options of `read_table`."""
        return {name: getattr(self, name) for name in _FILE}

    @property
    def matrix(self) -> dict[str, Any]:
        """The options of `FeatureChunks`; those of raw tables are an error."""
        for name in ("encoding", "sheet"):
            if getattr(self, name) is not None:
                raise typer.BadParameter(f"--{name} is for raw tables, but the model reads feature matrices.")
        return {name: getattr(self, name) for name in ("format", "delimiter", "max_gib")}

    def load(self, source: str, *, fixed_split: bool = False) -> Dataset:
        """Load a file or a named data set, with its training and test parts if `fixed_split`."""
        from simlabel.datasets import find_format, load_dataset

        options = {name: value for name, value in vars(self).items() if value is not None}
        if self.labels is not None:
            path = Path(source)
            # most data sets that are loaded by name come from Mulan or MEKA collections
            name = self.format or (None if path.is_file() else "arff")
            options["labels"] = find_format(path, name).parse_labels(self.labels)
        try:
            return load_dataset(source, fixed_split=fixed_split, **options)
        except TypeError as error:  # an option that the format does not have
            raise typer.BadParameter(str(error)) from None


FileReading = Annotated[Reading, _FILE]
LabelCellReading = Annotated[Reading, ("label_column", "separator", *_FILE)]
LabeledReading = Annotated[Reading, (*_LABELS, *_FILE)]
DatasetReading = Annotated[Reading, (*_LABELS, "delimiter", "missing", "format", "max_gib")]


@dataclass(frozen=True)
class ColumnOptions:
    """Options that describe the columns of a raw table."""

    text: Annotated[list[str] | None, _kind(help="Free text.")] = None
    category: Annotated[list[str] | None, _kind(help="One of several values.")] = None
    number: Annotated[list[str] | None, _kind(help="A number.")] = None
    multi: Annotated[list[str] | None, _kind(help="Several values with a separator.")] = None
    date: Annotated[list[str] | None, _kind(help="A date, or a date and time.")] = None
    ignore: Annotated[list[str] | None, _kind(help="Not used as a feature.")] = None
    id_column: Annotated[str | None, _row("--id", help="Column of row ids.")] = None
    title_column: Annotated[
        str | None, _row("--title", help="Column that is shown as the title of a row.")
    ] = None
    group_column: Annotated[
        str | None,
        _row(
            help="Column of groups of near duplicates: rows of a group are not evaluated by each other. "
            "It is no feature, unless one of the options of column types names it."
        ),
    ] = None
    empty_means_none: Annotated[
        bool,
        _row(
            "--empty-means-none",
            help="An empty label cell means that no label applies; by default its row is untagged and "
            "left out.",
        ),
    ] = False

    @property
    def by_option(self) -> dict[str, str | None]:
        """The columns that have a role, by option."""
        return {"--id": self.id_column, "--title": self.title_column, "--group-column": self.group_column}

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        values = {f"--{kind}": getattr(self, kind) for kind in _KINDS} | self.by_option
        values["--empty-means-none"] = self.empty_means_none
        return [option for option, value in values.items() if value]

    def kinds(self) -> dict[str, str]:
        """Return the type of each column that the options name; two types for one column are an error."""
        found: dict[str, str] = {}
        for kind in _KINDS:
            for name in getattr(self, kind) or ():
                if found.setdefault(name, kind) != kind:
                    raise typer.BadParameter(f"column {name!r} cannot be both --{found[name]} and --{kind}.")
        return found


IdAndGroup = Annotated[ColumnOptions, ("id_column", "group_column")]
IdColumn = Annotated[ColumnOptions, ("id_column",)]


@dataclass(frozen=True)
class SplitOptions:
    """Options that describe how data are split into training and test sets."""

    folds: Folds = 10
    repeats: Annotated[int, _split(help="Number of repetitions with other shuffles.", min=1)] = 1
    stratified: Annotated[
        bool, _split("--stratified", help="Keep the frequency of each label similar in all folds.")
    ] = False
    fixed_split: Annotated[
        bool, _split("--fixed-split", help="Use the data set's own training/test split.")
    ] = False
    test_share: Annotated[
        float | None, _split(help="Use random splits with this share of rows for testing.", min=0.0, max=1.0)
    ] = None
    seed: Seed = 0

    def protocol(self) -> Protocol:
        """Return the protocol that the options describe; contradictory options are an error."""
        from simlabel.experiments import FixedSplit, KFolds, RandomSplits

        if self.fixed_split and self.test_share is not None:
            raise typer.BadParameter("--fixed-split and --test-share exclude each other.")
        if (self.fixed_split or self.test_share is not None) and self.stratified:
            raise typer.BadParameter("--stratified requires folds: omit --fixed-split and --test-share.")
        if self.fixed_split:
            return FixedSplit()
        if self.test_share is not None:
            return RandomSplits(self.test_share, self.repeats, self.seed)
        return KFolds(self.folds, self.repeats, self.stratified, self.seed)


@dataclass(frozen=True)
class Run:
    """Options of an experiment: how it runs, and the reports about it."""

    jobs: Annotated[
        int, typer.Option(min=1, help="Number of folds that run in parallel, each in a process.")
    ] = 1
    folder: Annotated[
        Path,
        typer.Option(help="Folder for the results of finished folds; an interrupted run resumes from it."),
    ] = Path("simlabel-runs")
    report: Annotated[
        list[Path] | None, typer.Option(help="Write a report: .html, .md or .tex. Repeatable.")
    ] = None

    def __post_init__(self) -> None:
        if self.report:
            from simlabel.experiments.reports import check_report_path

            for path in self.report:
                check_report_path(path)

    def write_reports(self, make: Callable[[], Report]) -> None:
        """Make a report and write it to the requested files, if there are any."""
        if self.report:
            from simlabel.experiments.reports import write_report

            report = make()
            for path in self.report:
                write_report(report, path)
                say(f"wrote {path}")


Reports = Annotated[Run, ("report",)]


@dataclass(frozen=True)
class Levels:
    """Options that request label sets with a guarantee."""

    recall: Annotated[float | None, _level(help="Expected share of the true labels that are in the set")] = (
        None
    )
    precision: Annotated[
        float | None, _level(help="Expected share of the labels in the set that are true")
    ] = None
    label_coverage: Annotated[
        float | None, _level(help="For each label, probability that the set has it where it is true")
    ] = None
    set_coverage: Annotated[
        float | None, _level(help="Probability that the set has all true labels of a row")
    ] = None

    def guarantees(self) -> list[Guarantee]:
        """Return the requested guarantees; a level out of range is an error."""
        from simlabel.guarantees import GUARANTEES

        found = []
        for name, level in vars(self).items():
            if level is None:
                continue
            guarantee = GUARANTEES[name.replace("_", " ")](level)
            try:
                guarantee.check()
            except ValueError as error:
                raise typer.BadParameter(f"--{name.replace('_', '-')}: {error}") from None
            found.append(guarantee)
        return found


def check_named_columns(columns: Iterable[Hashable], wanted: Mapping[str, str | None], where: object) -> None:
    """Check that a table has the columns that options name; `wanted` has names by option."""
    columns = list(columns)
    for option, name in wanted.items():
        if name is not None and name not in columns:
            raise typer.BadParameter(
                f"{option}: {where} has no column {name!r}; it has {', '.join(map(repr, columns))}."
            )


def parse_criteria(text: str) -> list[str]:
    """Return the names of criteria; an unknown name is an error."""
    from simlabel.metrics import USUAL_K, find_criterion

    sets = {"paper": (), "usual": _USUAL, "all": MORE_CRITERION_NAMES}
    if text in sets:
        return [*CRITERION_NAMES, *sets[text]]
    names = split_option(text)
    for name in names:
        if name not in CRITERION_NAMES and name not in MORE_CRITERION_NAMES:
            try:
                find_criterion(name)
            except ValueError as error:
                raise typer.BadParameter(f"--criteria: {error}") from None
            *some, last = map(str, USUAL_K)
            ranks = f"{', '.join(some)} and {last}"
            raise typer.BadParameter(f"--criteria: {name!r} is not computed; available are k = {ranks}.")
    return names


def split_option(text: str) -> list[str]:
    """Return the distinct names in a list with commas."""
    return list(dict.fromkeys(filter(None, (name.strip() for name in text.split(",")))))
