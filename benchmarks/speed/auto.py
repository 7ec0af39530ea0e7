"""The time of AutoSMLClassifier.fit compared with RandomForest(300 trees, two jobs) on the same rows."""

from __future__ import annotations

from functools import partial

from _shared.data import shared
from _shared.report import Part
from _shared.timing import Scale, seconds, wall_and_cpu
from sklearn.ensemble import RandomForestClassifier

from simlabel import AutoSMLClassifier

SETS, LARGE = ("emotions", "yeast", "scene", "bibtex"), "goemotions_svd120"


def run(scale: Scale) -> Part:
    intro = "Seconds of one fit, and CPU seconds of the process (all threads)."
    shown = "set", "forest", "AutoSML", "ratio", "forest, CPU", "AutoSML, CPU", "ratio, CPU"
    part = Part("The fit of AutoSMLClassifier and of a forest", shown, intro)
    for name in SETS[:1] if scale.small else SETS:
        data = shared(name, scale)
        Y = data.Y.toarray()
        forest = RandomForestClassifier(300, n_jobs=2, random_state=0)
        auto = AutoSMLClassifier(n_jobs=2, random_state=0)
        fits = [partial(forest.fit, data.X, Y), partial(auto.fit, data.X, Y)]
        for fit in fits[1:] if name == SETS[0] else ():
            fit()  # compiles
        (wall, cpu), (own, own_cpu) = map(wall_and_cpu, fits)
        cells = [f"{each:.1f}" for each in (wall, own, own / wall, cpu, own_cpu, own_cpu / cpu)]
        part.row(name, *cells)
        part.result(f"fit on {name}", cells[2], "RandomForest(300, n_jobs=2)", "at most 2")
    if not scale.small:
        data = shared(LARGE, scale)
        taken = seconds(partial(AutoSMLClassifier(n_jobs=2, random_state=0).fit, data.X, data.Y))
        part.result(f"fit on {LARGE}, {data.n_rows:,} rows", f"{taken:.0f} s", "", "under 180 s")
        part.notes.append(f"{LARGE}, {data.n_rows:,} x {data.X.shape[1]}: {taken:.0f} s.")
    return part
