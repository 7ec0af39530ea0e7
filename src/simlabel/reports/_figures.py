"""Numbers -> drawings: SVG whose colours come from the page, so that they suit light and dark."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

import pandas as pd

from simlabel._validation import FloatArray
from simlabel.experiments import Ranking

# Colours that are drawn, and the page's own that take their place
_INK, _FAINT = "#010101", "#020202"
_SERIES = ("#030301", "#030302", "#030303", "#030304", "#030305", "#030306")
_PAGE = {_INK: "var(--ink)", _FAINT: "var(--faint)"} | {
    colour: f"var(--series-{number})" for number, colour in enumerate(_SERIES, 1)
}
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "simlabel",
    "font.size": 10.0,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _FAINT,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,
    "figure.constrained_layout.use": True,
}
_numbers = count(1)


@contextmanager
def _drawing(width: float, height: float) -> Iterator[tuple[Any, Any]]:
    import matplotlib as mpl  # slow to import, and most commands draw nothing
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height))
        yield figure, figure.add_subplot()


def _svg(figure: Any, alt: str) -> str:
    """The drawing as an element for the page, with names of its own and the page's colours."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    number = next(_numbers)
    text = re.sub(r'\bid="', f'id="p{number}-', text)
    text = re.sub(r'(url\(#|href="#)', rf"\1p{number}-", text)
    for drawn, page in _PAGE.items():
        text = text.replace(drawn, page)
    text = re.sub(r'font-family: [^;"]*', "font-family: system-ui, sans-serif", text)
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 system-ui, sans-serif", text)
    width, height = re.findall(r'(?:width|height)="([\d.]+)pt"', text[:400])[:2]
    text = re.sub(r'(width|height)="[\d.]+pt" ', "", text, count=2)
    style = f"max-width:{float(width) * 4 / 3:.0f}px;aspect-ratio:{width}/{height}"
    label = alt.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" style="{style}" ', 1)


def colour(position: int) -> str:
    """The colour of the n-th series; after the last they begin anew."""
    return _SERIES[position % len(_SERIES)]


def short(name: str, limit: int = 22) -> str:
    """A name that fits beside an axis."""
    return name if len(name) <= limit else name[: limit - 1] + "…"


def box_plot(values: Mapping[str, FloatArray], title: str) -> str:
    """A box for each algorithm, one criterion, over the folds."""
    with _drawing(3.6, 0.6 + 0.27 * len(values)) as (figure, axes):
        names = list(values)[::-1]
        line = {"color": _INK, "linewidth": 0.9}
        boxes = axes.boxplot(
            [values[name] for name in names],
            orientation="horizontal",
            widths=0.6,
            patch_artist=True,
            medianprops={"color": _INK, "linewidth": 1.6},
            whiskerprops=line,
            capprops=line,
            flierprops={"marker": "o", "markersize": 3, "markeredgecolor": _INK, "markerfacecolor": "none"},
        )
        for patch in boxes["boxes"]:
            patch.set(facecolor=colour(0), alpha=0.55, edgecolor=_INK, linewidth=0.9)
        axes.set_yticks(range(1, len(values) + 1), [short(name) for name in names])
        axes.locator_params(axis="x", nbins=4)
        axes.grid(axis="x", color=_FAINT, linewidth=0.5, alpha=0.5)
        axes.set_axisbelow(True)
        return _svg(figure, f"Box plots of {title} over the folds")


def calibration_plot(curves: Mapping[str, tuple[FloatArray, FloatArray]]) -> str:
    """Predicted probability against the share of labels that are true."""
    with _drawing(4.6, 3.8) as (figure, axes):
        axes.plot([0, 1], [0, 1], color=_FAINT, linestyle="--", linewidth=1)
        for position, (name, (predicted, observed)) in enumerate(curves.items()):
            axes.plot(
                predicted,
                observed,
                "o-",
                color=colour(position),
                markersize=3.5,
                linewidth=1.4,
                label=short(name),
            )
        axes.set(xlabel="predicted probability", ylabel="share that is true", xlim=(0, 1), ylim=(0, 1))
        axes.legend(frameon=False, fontsize=9)
        return _svg(figure, "Calibration curves: predicted probability against the share that is true")


def tuning_plot(curve: pd.DataFrame, parameter: str, criterion: str, best: float) -> str:
    """The criterion for each candidate of one parameter, with its standard error."""
    with _drawing(4.6, 3.2) as (figure, axes):
        axes.errorbar(
            curve[parameter],
            curve[criterion],
            yerr=curve["standard_error"],
            fmt="o-",
            color=colour(0),
            ecolor=_FAINT,
            markersize=3.5,
            linewidth=1.4,
            capsize=2,
        )
        axes.axvline(best, color=colour(1), linestyle="--", linewidth=1.2)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.set(xlabel=f"{parameter.rpartition('__')[2]} (log scale)", ylabel=criterion.replace("_", " "))
        return _svg(figure, f"Tuning curve: {criterion} for each candidate of {parameter}")


def rank_plot(ranking: Ranking) -> str | None:
    """Critical-difference diagram; None where scikit-posthocs is not installed."""
    if ranking.nemenyi is None:
        return None
    from scikit_posthocs import critical_difference_diagram

    with _drawing(5.4, 1.3 + 0.22 * len(ranking.mean_ranks)) as (figure, axes):
        critical_difference_diagram(
            ranking.mean_ranks,
            ranking.nemenyi,
            ax=axes,
            alpha=ranking.alpha,
            label_fmt_left="{label} ({rank:.2f})",
            label_fmt_right="({rank:.2f}) {label}",
            color_palette=dict.fromkeys(ranking.mean_ranks, _INK),
            crossbar_props={"color": colour(1), "linewidth": 3},
        )
        return _svg(figure, "Critical-difference diagram of the mean ranks")
