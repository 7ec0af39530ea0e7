"""Lists of names that people wrote, in docs/stages.md and in docstrings, against what the code knows."""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from pathlib import Path

import pytest

from simlabel import SMLClassifier
from simlabel.metrics import CRITERIA, MORE_CRITERIA, find_criterion
from simlabel.model.inspection import data_values
from simlabel.model.sketches import SKETCHES
from simlabel.normalizers import NORMALIZERS
from simlabel.ridge import INFLUENCES
from simlabel.rules import (
    CALIBRATIONS,
    LABEL_RULES,
    TUNED_METRICS,
    UNLABELED_METHODS,
    AutoRule,
    CutoffRule,
    PerLabel,
)
from simlabel.similarities import SIMILARITIES
from simlabel.sums import ENGINES, SAMPLERS, WEIGHTINGS
from simlabel.tables import ENCODERS
from simlabel.tuning import TUNERS

ROOT = Path(__file__).parents[1]
STAGES_PAGE = (ROOT / "docs" / "stages.md").read_text(encoding="utf-8")
REGISTRIES = [SIMILARITIES, NORMALIZERS, WEIGHTINGS, INFLUENCES, LABEL_RULES]
REGISTRIES += [CALIBRATIONS, TUNERS, SAMPLERS, SKETCHES, ENGINES, ENCODERS, UNLABELED_METHODS]
STAGES = {registry.kind: registry for registry in REGISTRIES}
RANKING = {name for name, criterion in CRITERIA.items() if criterion.needs_scores}


def usable(registry):
    """Names that mean something by themselves: what they stand for needs no further parameter."""
    found = set()
    for name, cls in registry.classes.items():
        try:
            getattr(cls(), "check", lambda: None)()
        except ValueError:
            continue
        found.add(name)
    return found


CHOSEN = ("normalizer", "calibration")  # "auto" stands for one of the names, and is none itself


def names_of(stage):
    """What a stage may be called."""
    return usable(STAGES[stage]) | ({"auto"} if stage in CHOSEN else set())


def parameter(thing, name):
    """What a docstring says of a parameter, with its type."""
    text = inspect.cleandoc(thing.__doc__)
    return re.search(rf"^{name} : .*\n(?:(?: .*)?\n)*", text, re.MULTILINE).group()


def test_every_stage_has_a_registry():
    stages = set(inspect.signature(SMLClassifier).parameters) - {"n_jobs", "random_state", "hierarchy"}
    assert stages == set(STAGES)


@pytest.mark.parametrize("stage", STAGES)
def test_the_page_of_stages_has_the_names_of(stage):
    names = re.search(rf"^\| `{stage}` \|[^|]*\|([^|]*)\|", STAGES_PAGE, re.MULTILINE).group(1)
    assert set(re.findall(r"`(\w+)`", names)) - {"None"} == names_of(stage)


@pytest.mark.parametrize("stage", STAGES)
def test_the_classifier_documents_the_names_of(stage):
    said = re.sub(r"``.*?``", "", parameter(SMLClassifier, stage), flags=re.DOTALL)
    assert set(re.findall(r'"(\w+)"', said)) == names_of(stage)


@pytest.mark.parametrize(
    ("thing", "known"),
    [
        (PerLabel, set(TUNED_METRICS)),
        (AutoRule, set(TUNED_METRICS)),
        (CutoffRule, set(TUNED_METRICS)),
        (SMLClassifier.data_values, RANKING),
        (data_values, RANKING),
    ],
    ids=["PerLabel", "Auto", "Cutoff", "model.data_values", "diagnostics"],
)
def test_docstrings_have_the_criteria_of(thing, known):
    assert set(re.findall(r'"(\w+)"', parameter(thing, "criterion"))) == known


def test_what_label_rules_are_tuned_for_are_criteria_of_sets():
    known = (*CRITERIA, *MORE_CRITERIA)
    assert set(TUNED_METRICS) == {name for name in known if not find_criterion(name).needs_scores}


@pytest.mark.parametrize("stage", STAGES)
def test_errors_name_all_of(stage):
    registry = STAGES[stage]
    with pytest.raises(ValueError, match=re.escape(f"Expected one of {registry.choice}, a ")):
        registry.resolve("no such name")


def public_names(tree):
    """Names that a module defines: functions, classes, and constants; not what it imports."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for one in targets for each in ast.walk(one) if isinstance(each, ast.Name))
        elif isinstance(node, ast.If | ast.Try):
            yield from public_names(node)


def test_no_two_modules_define_the_same_public_name():
    found = defaultdict(list)
    for path in sorted((ROOT / "src").rglob("*.py")):
        for name in set(public_names(ast.parse(path.read_text(encoding="utf-8")))):
            if not name.startswith("_"):
                found[name].append(str(path.relative_to(ROOT)))
    assert len(found) > 500
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}
