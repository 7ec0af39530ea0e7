"""Drawings of a report: SVG with the colors of the page, so that they fit light and dark mode."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, count
from typing import Any

import pandas as pd
from markupsafe import escape

from simlabel._utils.text import PLAIN, for_figure
from simlabel._utils.validation import FloatArray
from simlabel.experiments._comparison import Ranking

# colors that are drawn, which `_page_tag` replaces by those of the page
_INK, _FAINT = "#010101", "#020202"
_SERIES = ("#030301", "#030302", "#030303", "#030304", "#030305", "#030306")
_PAGE = {_INK: "var(--ink)", _FAINT: "var(--faint)"} | {
    color: f"var(--series-{number})" for number, color in enumerate(_SERIES, 1)
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
    **{f"text.{name}": value for name, value in PLAIN.items()},
    "figure.constrained_layout.use": True,
}
_CURVE: Any = {"markersize": 3.5, "linewidth": 1.4}
_RULER_HEIGHT = 1.25  # above the axes, in units of their height: clear of the numbers
_numbers = count(1)


@contextmanager
def _drawing(width: float, height: float) -> Iterator[tuple[Any, Any]]:
    import matplotlib as mpl  # slow to import, and most commands draw nothing
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height))
        yield figure, figure.add_subplot()


def _svg(figure: Any, alt: str) -> str:
    """Return a drawing as an SVG element with unique ids and the colors of the page."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    number = next(_numbers)
    # only the tags: the text between them holds names, which must not change
    text = re.sub(r"<[^>]*>", lambda tag: _page_tag(tag[0], number), text)
    width, height = re.findall(r'(?:width|height)="([\d.]+)pt"', text[:400])[:2]
    text = re.sub(r'(width|height)="[\d.]+pt" ', "", text, count=2)
    style = f"max-width:{float(width) * 4 / 3:.0f}px;aspect-ratio:{width}/{height}"
    label = escape(for_figure(alt))
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" style="{style}" ', 1)


def _page_tag(tag: str, number: int) -> str:
    tag = re.sub(r'\bid="', f'id="p{number}-', tag)
    tag = re.sub(r'(url\(#|href="#)', rf"\1p{number}-", tag)
    for drawn, page in _PAGE.items():
        tag = tag.replace(drawn, page)
    tag = re.sub(r'font-family: [^;"]*', "font-family: system-ui, sans-serif", tag)
    return re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 system-ui, sans-serif", tag)


def short(name: str, limit: int = 22) -> str:
    """Shorten a name to the space next to an axis."""
    shown = for_figure(name)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def box_plot(values: Mapping[str, FloatArray], title: str) -> str:
    """Draw one criterion over the folds, with a box per algorithm."""
    with _drawing(3.6, 0.6 + 0.27 * len(values)) as (figure, axes):
        names = list(values)[::-1]
        line = {"color": _INK, "linewidth": 0.9}
        axes.boxplot(
            [values[name] for name in names],
            orientation="horizontal",
            widths=0.6,
            patch_artist=True,
            boxprops={"facecolor": _SERIES[0], "alpha": 0.55, "edgecolor": _INK, "linewidth": 0.9},
            medianprops={"color": _INK, "linewidth": 1.6},
            whiskerprops=line,
            capprops=line,
            flierprops={"marker": "o", "markersize": 3, "markeredgecolor": _INK, "markerfacecolor": "none"},
        )
        axes.set_yticks(range(1, len(values) + 1), [short(name) for name in names])
        axes.locator_params(axis="x", nbins=4)
        axes.grid(axis="x", color=_FAINT, linewidth=0.5, alpha=0.5)
        axes.set_axisbelow(True)
        return _svg(figure, f"Box plots of {title} over the folds")


def draw_calibration(curves: Mapping[str, tuple[FloatArray, FloatArray]]) -> str:
    """Draw the share of true labels against the predicted probability."""
    with _drawing(4.6, 3.8) as (figure, axes):
        axes.plot([0, 1], [0, 1], color=_FAINT, linestyle="--", linewidth=1)
        for position, curve in enumerate(curves.values()):
            color = _SERIES[position % len(_SERIES)]
            axes.plot(*curve, "o-", color=color, label=str(position), **_CURVE)
        axes.set(xlabel="predicted probability", ylabel="share of true labels", xlim=(0, 1), ylim=(0, 1))
        legend = axes.legend(frameon=False, fontsize=9)
        for shown, name in zip(legend.get_texts(), curves, strict=True):
            shown.set_text(short(name))  # as the label of a line, a name that begins with _ would be hidden
        return _svg(figure, "Calibration curves: predicted probability against the share of true labels")


def tuning_plot(curve: pd.DataFrame, parameter: str, criterion: str, best: float) -> str:
    """Draw the criterion for each candidate of one parameter, with its standard error."""
    with _drawing(4.6, 3.2) as (figure, axes):
        errors = curve["standard_error"]
        axes.errorbar(
            curve[parameter],
            curve[criterion],
            yerr=errors,
            fmt="o-",
            color=_SERIES[0],
            ecolor=_FAINT,
            capsize=2,
            **_CURVE,
        )
        axes.axvline(best, color=_SERIES[1], linestyle="--", linewidth=1.2)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("")
        axes.set(xlabel=f"{parameter.rpartition('__')[2]} (log scale)", ylabel=criterion.replace("_", " "))
        return _svg(figure, f"Tuning curve: {criterion} for each candidate of {parameter}")


def rank_plot(ranking: Ranking) -> str | None:
    """Draw the critical-difference diagram; return None if scikit-posthocs is not installed."""
    if ranking.nemenyi is None:
        return None
    from scikit_posthocs import critical_difference_diagram

    n = len(ranking.mean_ranks)  # the more algorithms, the closer their ranks
    with _drawing(min(9.0, max(5.4, 4.0 + 0.35 * n)), 1.3 + 0.22 * n) as (figure, axes):
        names = {name: for_figure(name) for name in ranking.mean_ranks}
        drawn = critical_difference_diagram(
            {names[name]: rank for name, rank in ranking.mean_ranks.items()},
            ranking.nemenyi.rename(index=names, columns=names),
            ax=axes,
            alpha=ranking.alpha,
            label_fmt_left="{label} ({rank:.2f})\N{EN SPACE}",
            label_fmt_right="\N{EN SPACE}({rank:.2f}) {label}",
            color_palette=dict.fromkeys(names.values(), _INK),
            crossbar_props={"color": _SERIES[1], "linewidth": 3},
        )
        for bar in chain.from_iterable(drawn["crossbars"]):  # sets, whose order differs between runs
            bar.set_xdata(sorted(bar.get_xdata()))
        _draw_ruler(axes, min(ranking.mean_ranks.values()), ranking.critical_difference)
        return _svg(figure, "Critical-difference diagram of the mean ranks")


def _draw_ruler(axes: Any, start: float, length: float) -> None:
    """Draw the axis of the ranks, and above it a line as long as the critical difference."""
    axes.spines["top"].set_visible(True)
    transform = axes.get_xaxis_transform()
    style = {"color": _INK, "linewidth": 1.2, "clip_on": False, "transform": transform}
    axes.plot([start, start + length], [_RULER_HEIGHT] * 2, marker="|", markersize=7, **style)
    axes.annotate(
        f"critical difference {length:.2f}",
        (start + length / 2, _RULER_HEIGHT),
        (0, 4),
        transform,
        "offset points",
        ha="center",
        va="bottom",
        fontsize=9,
    )
