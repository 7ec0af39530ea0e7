"""Draws docs/architecture.svg: the layers of pyproject.toml, each package with what its docstring says."""

from __future__ import annotations

import ast
import textwrap
import tomllib
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

ROOT = Path(__file__).resolve().parent.parent
INK, PAPER, EDGE = "#1f2933", "#eef2f7", "#9fb3c8"
WIDTH, HEIGHT, GAP = 12.0, 0.82, 0.14


def layers() -> list[list[str]]:
    """The packages of each layer, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [layer.split(" | ") for layer in contract["layers"]]


def purpose(package: str) -> str:
    """The first sentence of a package's docstring."""
    source = (ROOT / "src" / "simlabel" / package / "__init__.py").read_text()
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0].rstrip(".")


def draw() -> None:
    """Layers from top to bottom; imports go down only."""
    plt.rcParams.update({"svg.hashsalt": "simlabel", "svg.fonttype": "none"})
    rows = layers()
    figure, axes = plt.subplots(figsize=(WIDTH, len(rows) * (HEIGHT + GAP)))
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(-0.05, len(rows) * (HEIGHT + GAP))
    axes.axis("off")
    for i, packages in enumerate(rows):
        width = (WIDTH - GAP * (len(packages) + 1)) / len(packages)
        bottom = (len(rows) - 1 - i) * (HEIGHT + GAP)
        for j, package in enumerate(packages):
            left = GAP + j * (width + GAP)
            box = FancyBboxPatch((left, bottom), width, HEIGHT, boxstyle="round,pad=0,rounding_size=0.08")
            box.set(facecolor=PAPER, edgecolor=EDGE)
            axes.add_patch(box)
            axes.text(
                left + 0.12,
                bottom + HEIGHT - 0.2,
                package,
                color=INK,
                fontsize=10,
                weight="bold",
                va="center",
            )
            words = textwrap.wrap(purpose(package), int(width * 12.5))[:2]
            axes.text(left + 0.12, bottom + 0.28, "\n".join(words), color=INK, fontsize=7.2, va="center")
    figure.savefig(ROOT / "docs" / "architecture.svg", bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    draw()
