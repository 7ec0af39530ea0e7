"""The command line with any verb, options and files: exit code 0, 1 or 2, a message, and no trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer
import uvicorn
from typer.testing import CliRunner

from damaged_files import SEEDS, damaged
from simlabel.cli import app

SECONDS = 60.0

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
# these run for minutes where nothing is wrong; what parses their options parses those of the others
LONG = ("demo", "reproduce")
NAMES = ["data", "data.csv", "[/red].csv", "[bold]x", "a b.csv", "--x.csv", "ä\u202e.csv", "data.gz", "-"]
ODD = [
    "",
    "0",
    "-1",
    "x",
    "[/]",
    "[bold]",
    "\x00",
    "9" * 30,
    "nan",
    "1e999",
    "..",
    ".",
    "a,b",
    "\n",
    "\udc80",
]
# what leads on; an option that is not here gets odd values alone
PLAIN: dict[str, list[str]] = {
    "output": ["model", "out.csv", "out.parquet", "out.jsonl", "-", "absent/out.csv", "data"],
    "to": ["csv", "parquet", "jsonl"],
    "similarity": ["rbf", "laplacian", "chi_square", "precomputed", "linear"],
    "normalizer": ["l2", "zscore", "minmax,l2", "none"],
    "influence": ["uniform", "label_mean", "ridge"],
    "label_rule": ["threshold", "per_label", "auto", "cutoff"],
    "labels": ["1", "-1", "l1,l2", "m", "tags", "data.xml"],
    "label_prefix": ["l", "t"],
    "label_column": ["tags", "l1"],
    "separator": [";", "|", ","],
    "delimiter": [",", ";", "\t"],
    "missing": ["mean", "median", "most_frequent"],
    "format": ["arff", "svmlight", "xmc", "csv", "parquet", "npz"],
    "criteria": ["all", "paper", "hamming_loss", "precision@1,ndcg@3"],
    "report": ["report.html", "report.md", "report.tex", "absent/report.md"],
    "algorithms": ["sml", "mlknn", "sml,mlknn", "os:path", "nothing:Nothing", "collections:OrderedDict"],
    "folds": ["2", "3"],
    "repeats": ["1", "2"],
    "test_share": ["0.5", "0.1", "0", "1"],
    "rows": ["0", "0,1", "0-1", "5", "1-0"],
    "top": ["1", "3"],
    "chunk_rows": ["1", "2"],
    "index_base": ["0", "1"],
    "seed": ["0", "7"],
    "folder": ["runs", "data"],
}
SKIPPED = ("help", "debug", "cluster", "install_completion", "show_completion")


def warm() -> dict[str, bytes]:
    """Model files by the kind of data set that they were fitted on; from now on `serve` answers nobody."""
    # all up to the first request is run; a server that waits for one would be a hang
    uvicorn.Server.run = lambda self, sockets=None: None  # type: ignore[method-assign]
    models = {}
    for kind, (data, options) in SEEDS.items():
        Path("whole").write_bytes(data)
        words = [
            f"--{name.replace('_', '-')}={value}" for name, value in options.items() if name != "missing"
        ]
        done = CliRunner().invoke(app, ["fit", "whole", "-o", "model", *words])
        if done.exit_code == 0:  # that of arff has a gap
            models[kind] = Path("model").read_bytes()
    return models


def case(models: dict[str, bytes], seed: int) -> None:
    """One command in a folder with a data file and a model file, either of which may be damaged."""
    rng = np.random.default_rng(seed)
    odd = float(rng.choice([0.0, 0.1, 0.3]))
    kind = str(rng.choice(list(models)))
    data, options = SEEDS[kind]
    file = str(rng.choice(NAMES)) if rng.random() < odd else "data"
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).write_bytes(_perhaps_damaged(rng, data, odd))
    model = models[kind if rng.random() < 0.9 else str(rng.choice(list(models)))]
    Path("model").write_bytes(_perhaps_damaged(rng, model, odd / 3))
    words = _command(rng, file, options, odd)
    result = CliRunner().invoke(app, words)
    facts = f"{words} on {kind}: code {result.exit_code}, {result.output[-500:]!r}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise RuntimeError(facts) from result.exception
    assert result.exit_code in (0, 1, 2), facts
    assert result.exit_code == 0 or result.output.strip(), facts
    assert "Traceback" not in result.output, facts
    assert "--debug shows" not in result.output, facts  # the hint at an unexpected error


def _perhaps_damaged(rng: np.random.Generator, data: bytes, odd: float) -> bytes:
    if rng.random() >= odd:
        return data
    return damaged(data, lambda low, high: int(rng.integers(low, high + 1)))


def _command(rng: np.random.Generator, file: str, options: dict[str, Any], odd: float) -> list[str]:
    """A verb, its arguments, and some of its options."""
    verbs = [name for name in COMMANDS if name not in LONG]
    verb = str(rng.choice(verbs)) if rng.random() > odd / 10 else str(rng.choice([*ODD, *LONG]))
    if verb not in verbs:
        return [verb, "--folds", "1"]
    words = [verb]
    message = {} if rng.random() < odd else dict(options)
    for parameter in COMMANDS[verb].params:
        name = str(parameter.name)
        if parameter.param_type_name == "argument":
            given = "model" if name == "model" else file
            words.append(str(rng.choice(ODD)) if rng.random() < odd / 3 else given)
        elif name in message:
            words += [parameter.opts[-1], str(message[name])]
        elif name not in SKIPPED and (parameter.required or name == "folds" or rng.random() < 0.12):
            words += _option(rng, parameter, odd)
    while rng.random() < odd / 5:
        words.insert(int(rng.integers(len(words) + 1)), str(rng.choice(ODD)))
    # a pipe or a terminal cannot carry what is not a text
    return [word for word in words if "\x00" not in word or rng.random() < 0.5]


def _option(rng: np.random.Generator, parameter: Any, odd: float) -> list[str]:
    if parameter.is_flag:
        return [parameter.opts[-1]]
    plain = PLAIN.get(str(parameter.name), [])
    if not plain and not odd:
        return []
    choices = plain if plain and rng.random() >= odd else ODD
    return [parameter.opts[-1], str(rng.choice(choices))]
