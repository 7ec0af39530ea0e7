"""An alternating decision tree on paper: as lines of text, and as a drawing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simlabel._utils.text import PLAIN, for_terminal

_MIDDLE: dict[str, Any] = {"ha": "center", "va": "center", **PLAIN}


class Tree(NamedTuple):
    """What there is to show; nodes and tests are numbered as in ADTBoostMH."""

    test_nodes: npt.NDArray[np.int64]
    features: list[str]  # the column of each test, by name
    thresholds: npt.NDArray[np.float64] | None  # None where the tests are for the presence of a word
    node_scores: npt.NDArray[np.float64]
    labels: npt.NDArray[Any]
    top: int

    def tests_of(self, node: int) -> list[int]:
        """Give the tests that hang below a prediction node."""
        return [int(t) for t in np.flatnonzero(self.test_nodes == node)]

    def describe(self, node: int) -> str:
        """Write the strongest scores of a node, labels in their own order."""
        scores = self.node_scores[node]
        shown = np.sort(np.argsort(-np.abs(scores), kind="stable")[: self.top])
        return ", ".join(f"{for_terminal(self.labels[k])} {scores[k]:+.2f}" for k in shown)

    def answers(self, test: int) -> tuple[str, str]:
        """Write what it means that a test fails, and that it holds."""
        name = for_terminal(self.features[test])
        if self.thresholds is None:
            return f"no {name}", name
        return f"{name} < {self.thresholds[test]:.4g}", f"{name} >= {self.thresholds[test]:.4g}"


def write(tree: Tree) -> str:
    """Write one line for each prediction node, indented by depth."""
    lines = [tree.describe(0)]

    def below(node: int, indent: str) -> None:
        for test in tree.tests_of(node):
            for child, answer in zip((2 * test + 1, 2 * test + 2), tree.answers(test), strict=True):
                lines.append(f"{indent}({test + 1}) {answer}: {tree.describe(child)}")
                below(child, indent + "|   ")

    below(0, "")
    return "\n".join(lines)


def draw(tree: Tree, ax: Any = None) -> Any:
    """Draw prediction nodes as ellipses and tests as boxes, from left to right."""
    import matplotlib.pyplot as plt

    ax = plt.gca() if ax is None else ax
    place = _places(tree)
    for test, node in enumerate(tree.test_nodes):
        x, y = place[int(node)]
        children = (2 * test + 1, 2 * test + 2)
        middle = (x + 1, (place[children[0]][1] + place[children[1]][1]) / 2)
        ax.plot([x, middle[0]], [y, middle[1]], "--", color="grey", linewidth=0.8, zorder=0)
        for child, answer in zip(children, tree.answers(test), strict=True):
            ax.plot(*zip(middle, place[child], strict=True), "-", color="grey", linewidth=0.8, zorder=0)
            ax.annotate(answer, _between(middle, place[child]), fontsize=7, **_MIDDLE)
        ax.text(*middle, str(test + 1), fontsize=8, bbox=_box("square", "lightyellow"), **_MIDDLE)
    for node, where in place.items():
        text = tree.describe(node).replace(", ", "\n")
        ax.text(*where, text, fontsize=7, bbox=_box("round", "aliceblue"), **_MIDDLE)
    ax.set_axis_off()
    ax.margins(0.15)
    return ax


def _between(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2


def _box(style: str, colour: str) -> dict[str, str]:
    return {"boxstyle": style, "facecolor": colour, "edgecolor": "grey"}


def _places(tree: Tree) -> dict[int, tuple[float, float]]:
    """Put leaves on lines of their own, and every other node in the middle of what hangs below it."""
    place: dict[int, tuple[float, float]] = {}
    n_leaves = 0

    def put(node: int, depth: int) -> float:
        nonlocal n_leaves
        heights = [put(child, depth + 1) for t in tree.tests_of(node) for child in (2 * t + 1, 2 * t + 2)]
        if not heights:
            n_leaves += 1
            heights = [-float(n_leaves)]
        place[node] = (2.0 * depth, sum(heights) / len(heights))
        return place[node][1]

    put(0, 0)
    return place
