"""Draws front.svg, the picture of the README and of the front page: python docs/front.py."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

BLUE, ORANGE, GREEN, INK, GRAY = "#2a78b5", "#d1662b", "#4f8f46", "#1f2933", "#9aa5b1"
COLORS = {"crime": BLUE, "space": ORANGE, "romance": GREEN}
#: where films lie, and their genres; the new one is in the middle
FILMS = [
    ((-1.0, 0.55), "crime"),
    ((-0.75, -0.3), "crime, space"),
    ((-0.35, 0.85), "crime"),
    ((0.55, 0.75), "crime, romance"),
    ((0.5, -0.5), "space, crime"),
    ((1.15, 0.1), "romance"),
    ((1.2, -0.75), "space"),
    ((-0.2, -1.0), "space"),
]
GAMMA = 1.2


def main() -> None:
    """Films in the plane, and the sums that they make."""
    plt.rcParams.update({"svg.hashsalt": "simlabel", "svg.fonttype": "path", "font.size": 10})
    figure, (plane, bars) = plt.subplots(1, 2, figsize=(9, 3.1), layout="constrained", width_ratios=[1.25, 1])
    similarity = [float(np.exp(-GAMMA * (x * x + y * y))) for (x, y), _ in FILMS]
    for ((x, y), genres), alike in zip(FILMS, similarity, strict=True):
        plane.plot(
            [0, x], [0, y], color=GRAY, alpha=0.6, linewidth=9 * alike, zorder=0, solid_capstyle="round"
        )
        plane.scatter(x, y, s=130, color=COLORS[genres.split(",")[0]], edgecolor="white", zorder=2)
        plane.text(x, y + (0.16 if y > 0 else -0.27), genres, ha="center", color=INK, fontsize=9, zorder=3)
    plane.scatter(0, 0, marker="*", s=420, color=INK, edgecolor="white", zorder=3)
    plane.text(0.12, 0.12, "new", ha="left", color=INK, fontweight="bold")
    plane.set(xlim=(-1.7, 1.7), ylim=(-1.35, 1.15), title="how similar is it to every labeled film?")
    plane.axis("off")
    _bars(bars, similarity)
    figure.savefig(Path(__file__).with_name("front.svg"), metadata={"Date": None}, facecolor="white")


def _bars(bars: plt.Axes, similarity: list[float]) -> None:
    """A bar for each genre, a piece of it for each film, and the answer."""
    totals = dict.fromkeys(COLORS, 0.0)
    for (_, genres), alike in zip(FILMS, similarity, strict=True):
        for genre in genres.split(", "):
            bars.barh(genre, alike, left=totals[genre], color=COLORS[genre], edgecolor="white")
            totals[genre] += alike
    order = sorted(totals, key=totals.__getitem__, reverse=True)
    sizes = [
        sum(a for (_, genres), a in zip(FILMS, similarity, strict=True) if genres.count(",") == s)
        for s in (0, 1)
    ]
    n_labels = 1 + int(np.argmax(sizes))
    for genre in order[:n_labels]:
        bars.text(totals[genre], genre, "  ✓", va="center", color=INK, fontsize=13)
    bars.set_yticks(order, order, fontsize=10)
    bars.set_ylim(2.6, -0.6)
    bars.set_xticks([])
    bars.margins(x=0.12)
    for side in ("top", "right", "bottom"):
        bars.spines[side].set_visible(False)
    bars.set_title(f"added up, label by label: {n_labels} are likely")


if __name__ == "__main__":
    main()
