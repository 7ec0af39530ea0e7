"""Options that several verbs have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simlabel.cli._choices import CRITERIA, FORMATS, LABELS_OF, MORE_CRITERIA, TABLE_FORMATS
from simlabel.cli._wording import in_shell, spelled

if TYPE_CHECKING:
    from simlabel.datasets import Dataset
    from simlabel.experiments import Protocol

_USUAL = ("f1_micro", "f1_macro", "f1_instance")  # beside the paper's
_DATA, _PROTOCOL = "How to read the data", "How to divide the data"

Labels = Annotated[
    str | None,
    typer.Option(
        help="Label columns. " + "; ".join(f"For {name}: {how}" for name, how in LABELS_OF.items()) + ".",
        rich_help_panel=_DATA,
    ),
]
LabelPrefix = Annotated[
    str | None, typer.Option(help="How the names of label columns begin.", rich_help_panel=_DATA)
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        help="One column that holds the labels of each row; a model knows that of fit.",
        rich_help_panel=_DATA,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="Between the labels in that column.",
        show_default="';', in a raw table as found out at fit",
        rich_help_panel=_DATA,
    ),
]
Delimiter = Annotated[
    str | None, typer.Option(help="Between the cells of a CSV file.", rich_help_panel=_DATA)
]
Missing = Annotated[
    str | None,
    typer.Option(help="What to put for a missing value: mean, median, most_frequent.", rich_help_panel=_DATA),
]
Format = Annotated[
    str | None,
    typer.Option(
        help=f"{', '.join(FORMATS)}; of raw tables {', '.join(TABLE_FORMATS)}; by default as detected.",
        rich_help_panel=_DATA,
    ),
]
MaxGib = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="GiB of memory that a data file may ask for, if more than its size lets expect.",
        rich_help_panel=_DATA,
    ),
]

Folds = Annotated[int, typer.Option(min=2, help="Number of folds.", rich_help_panel=_PROTOCOL)]
Repeats = Annotated[int, typer.Option(min=1, help="Repeat with other shuffles.", rich_help_panel=_PROTOCOL)]
Stratified = Annotated[
    bool,
    typer.Option(
        "--stratified", help="Keep each label's share alike in all folds.", rich_help_panel=_PROTOCOL
    ),
]
FixedParts = Annotated[
    bool,
    typer.Option(
        "--fixed-split", help="Use the set's own training and test parts.", rich_help_panel=_PROTOCOL
    ),
]
TestShare = Annotated[
    float | None,
    typer.Option(
        min=0.0, max=1.0, help="Random splits with this share for testing.", rich_help_panel=_PROTOCOL
    ),
]

Seed = Annotated[int, typer.Option(min=0, help="Seed of shuffles and algorithms.")]
Jobs = Annotated[int, typer.Option(min=1, help="Folds that run at a time, each in its own process.")]
Folder = Annotated[
    Path, typer.Option(help="Finished folds are kept here, and a run that was stopped goes on from them.")
]
Criteria = Annotated[
    str,
    typer.Option(
        help=f"Which criteria to show: 'paper' ({', '.join(CRITERIA)}), 'usual' (these and "
        f"{', '.join(_USUAL)}), 'all', or names with commas between: {', '.join(MORE_CRITERIA)}."
    ),
]
Reports = Annotated[
    list[Path] | None,
    typer.Option("--report", help="Write a report: .html, .md or .tex. Can be given several times."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the trace of an error.")]

RUNS = Path("simlabel-runs")


@dataclass(frozen=True)
class Reading:
    """How the user says that data are to be read."""

    labels: str | None = None
    label_prefix: str | None = None
    label_column: str | None = None
    separator: str | None = None
    delimiter: str | None = None
    missing: str | None = None
    format: str | None = None
    max_gib: float | None = None
    encoding: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        from simlabel.datasets import check_delimiter

        formats = [*FORMATS, *(name for name in TABLE_FORMATS if name not in FORMATS)]
        if self.format is not None and self.format not in formats:
            raise typer.BadParameter(f"--format must be one of {', '.join(formats)}; got {self.format!r}.")
        try:
            check_delimiter(self.delimiter)
        except ValueError as error:
            raise typer.BadParameter(in_shell(str(error), ["delimiter"])) from None

    @property
    def table(self) -> dict[str, Any]:
        """The options of `read_table`."""
        names = ("format", "delimiter", "encoding", "sheet", "max_gib")
        return {name: getattr(self, name) for name in names}

    @property
    def matrix(self) -> dict[str, Any]:
        """The options of `FeatureChunks`; those of raw tables are misuse."""
        for name in ("encoding", "sheet"):
            if getattr(self, name) is not None:
                raise typer.BadParameter(
                    f"{spelled(name)} is for raw tables, which this model does not read."
                )
        return {name: getattr(self, name) for name in ("format", "delimiter", "max_gib")}

    def load(self, source: str, *, fixed_split: bool = False) -> Dataset:
        """Load a file, or a set by its name; as its training and test parts, where these are wanted."""
        from simlabel.datasets import load_dataset

        options: dict[str, Any] = {name: value for name, value in vars(self).items() if value is not None}
        if self.labels is not None:
            options["labels"] = self._parse_labels(self.labels, Path(source))
        try:
            return load_dataset(source, fixed_split=fixed_split, **options)
        except TypeError as error:  # an option that the format does not have
            raise typer.BadParameter(in_shell(str(error), list(vars(self)))) from None

    def _parse_labels(self, text: str, path: Path) -> Any:
        from simlabel.datasets import find_format

        # a set that is asked for by name comes from a Mulan or MEKA collection, more often than not
        name = self.format or (None if path.is_file() else "arff")
        return find_format(path, name).parse_labels(text)


def protocol_of(
    folds: int, repeats: int, stratified: bool, fixed_split: bool, test_share: float | None, seed: int
) -> Protocol:
    """The protocol that the options mean; two at once are misuse."""
    from simlabel.experiments import FixedSplit, KFolds, RandomSplits

    if fixed_split and test_share is not None:
        raise typer.BadParameter("--fixed-split and --test-share exclude each other.")
    if (fixed_split or test_share is not None) and stratified:
        raise typer.BadParameter("--stratified is about folds; leave out --fixed-split and --test-share.")
    if fixed_split:
        return FixedSplit()
    if test_share is not None:
        return RandomSplits(test_share, repeats, seed)
    return KFolds(folds, repeats, stratified, seed)


def criteria_of(text: str) -> list[str]:
    """Names of criteria; an unknown one is misuse."""
    from simlabel.metrics import USUAL_K, find_criterion

    sets = {"paper": (), "usual": _USUAL, "all": MORE_CRITERIA}
    if text in sets:
        return [*CRITERIA, *sets[text]]
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in CRITERIA and name not in MORE_CRITERIA:
            try:
                find_criterion(name)
            except ValueError as error:
                raise typer.BadParameter(f"--criteria: {error}") from None
            *some, last = map(str, USUAL_K)
            kept = f"{', '.join(some)} and {last}"
            raise typer.BadParameter(f"{name!r} is not kept by comparisons; they have k = {kept}.")
    return names
