"""The pages of the reference, derived from the code: every public name once, by the package that it is in.

A name is public if its package exports it and its docstring has an example that runs; errors and warnings
need no example. So undocumented names are not listed, and documented ones cannot be forgotten.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

#: what packages export for each other, and not for users, though it has an example
_INNER = {
    "DiskRows",
    "LabelSpace",
    "NumberedNames",
    "ReduceCall",
    "References",
    "Stack",
    "equal_groups",
    "fold",
    "lazy_moments",
    "river_file",
    "encode_groups",
    "CollapsedSums",
    "MergedSums",
    "rounds",
    "current_name",
    "rbf_contributions",
}
#: packages that users import from, in the order in which they meet them, with what is in them
PACKAGES = {
    "simlabel": "Classifiers and the one sum",
    "simlabel.labels": "Labels: partly known, nested",
    "simlabel.tables": "Raw tables",
    "simlabel.similarities": "Similarities",
    "simlabel.normalizers": "Normalizers",
    "simlabel.ridge": "Influence",
    "simlabel.rules": "Label rules and calibration",
    "simlabel.guarantees": "Guarantees",
    "simlabel.tuning": "Tuning",
    "simlabel.model.sketches": "Short forms",
    "simlabel.sums": "Sums: engines, weightings, samplers",
    "simlabel.sums.dask": "Many machines",
    "simlabel.model.inspection": "Explanations",
    "simlabel.model.persistence": "Files of models",
    "simlabel.metrics": "Criteria",
    "simlabel.datasets": "Data sets",
    "simlabel.baselines": "The paper's rivals",
    "simlabel.experiments": "Experiments",
    "simlabel.experiments.reports": "Reports",
}


def public_names(package: str) -> list[str]:
    """The names that a package offers to users."""
    module = importlib.import_module(package)
    return [name for name in module.__all__ if name not in _INNER and _is_public(getattr(module, name))]


def _is_public(thing: object) -> bool:
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return False
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return True
    return ">>>" in (inspect.getdoc(thing) or "")


def write_reference(folder: Path) -> None:
    """A page for each package, and one that lists them."""
    folder.mkdir(exist_ok=True)
    seen: set[int] = set()
    pages = []
    for package, title in PACKAGES.items():
        module = importlib.import_module(package)
        names = [name for name in public_names(package) if id(getattr(module, name)) not in seen]
        seen |= {id(getattr(module, name)) for name in names}
        if names:
            page = package.replace(".", "_")
            pages.append(page)
            _write(folder / f"{page}.rst", _page(package, title, names))
    lines = ["Reference", "=========", "", "Every public name, by the package that it is imported from.", ""]
    lines += [".. toctree::", "   :maxdepth: 1", "", *(f"   {page}" for page in pages), ""]
    _write(folder / "index.rst", "\n".join(lines))


def _page(package: str, title: str, names: list[str]) -> str:
    heading = f"{title}: ``{package}``"
    lines = [heading, "=" * len(heading), "", f".. currentmodule:: {package}", "", ".. autosummary::"]
    lines += ["   :toctree: names", "   :template: name.rst", "", *(f"   {name}" for name in names), ""]
    return "\n".join(lines)


def _write(path: Path, text: str) -> None:
    """Only where it changed, so that a second build is quick."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
