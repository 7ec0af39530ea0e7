"""Packages are used through their interfaces: no module imports a private module of another package."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "simlabel"
MODULES = {
    ".".join(("simlabel", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}


def private_imports(module: str, text: str) -> list[str]:
    """Imports of modules whose name has a leading underscore, from outside of the package that holds them."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found += [f"line {node.lineno}: {name}" for name in names if not _may_import(module, name)]
    return found


def _may_import(module: str, name: str) -> bool:
    parts = name.split(".")
    if parts[0] != "simlabel":
        return True
    owners = [parts[:i] for i, part in enumerate(parts) if part.startswith("_") and not part.endswith("__")]
    return all(module.split(".")[: len(owner)] == owner for owner in owners)


def test_packages_are_imported_through_their_interface():
    found = {
        module: private_imports(module, path.read_text(encoding="utf-8")) for module, path in MODULES.items()
    }
    assert {module: imports for module, imports in found.items() if imports} == {}


def test_a_private_import_is_found():
    text = "from simlabel.sums._exact import Exact"
    assert private_imports("simlabel.tuning._search", text) == ["line 1: simlabel.sums._exact.Exact"]
    assert private_imports("simlabel.sums._auto", text) == []
    assert private_imports("simlabel.tuning", "from simlabel._utils.rows import blocks") == []
