"""Twenty explanations as a user reads them: plain sums and ridge, five rows each of yeast and of films.

    SIMLABEL_DATA=... python examples/twenty_explanations.py

Needs yeast and raw/tv.csv in the folder that SIMLABEL_DATA names.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from simlabel import SMLClassifier, Tagger
from simlabel.datasets import load_dataset
from simlabel.model.inspection import explanation_texts, headline, legend

ROWS, KNOWN_GENES, KNOWN_FILMS = 5, 2000, 1500


def show(what: str, model: Any, queries: Any) -> None:
    print(f"\n{what}")
    why = model.explain(queries)
    print(legend(why))
    for query in range(len(why)):
        print(headline(why, query))
        for each in explanation_texts(why, query):
            print(f"    {each.sentence}")


def main() -> None:
    yeast = load_dataset("yeast")
    X, Y = yeast.X, pd.DataFrame(yeast.Y.toarray(), columns=list(yeast.label_names))
    for influence in ("uniform", "ridge"):
        model = SMLClassifier(influence=influence, random_state=0)
        model.fit(X[:KNOWN_GENES], Y[:KNOWN_GENES], ids=[f"gene {i}" for i in range(KNOWN_GENES)])
        show(f"yeast, {influence}", model, X[KNOWN_GENES : KNOWN_GENES + ROWS])
    films = pd.read_csv(
        Path(os.environ["SIMLABEL_DATA"]) / "raw" / "tv.csv", dtype=str, keep_default_na=False
    )
    genres = films.pop("genres")
    known, asked = films[:KNOWN_FILMS], films[KNOWN_FILMS : KNOWN_FILMS + ROWS]
    show("films, Tagger", Tagger(id_column="id").fit(known, genres[:KNOWN_FILMS]), asked)
    plain = SMLClassifier("cosine", encoder="table", normalizer=None, random_state=0)
    sets = [set(cell.split(", ")) for cell in genres[:KNOWN_FILMS]]
    plain.fit(known.drop(columns="id"), sets, ids=known["id"].tolist())
    show("films, plain sums", plain, asked.drop(columns="id"))


if __name__ == "__main__":
    main()
