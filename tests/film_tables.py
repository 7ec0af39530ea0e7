"""Small tables of films as people have them: texts, a decimal comma, dates, empty cells, a film called 54."""

from __future__ import annotations

import random

import pandas as pd

WORDS = {
    "horror": ["shark", "blood", "night", "fear", "ghost"],
    "romance": ["love", "wedding", "kiss", "heart", "bouquet"],
    "crime": ["police", "murder", "bank", "thief", "detective"],
}


def films(rows, seed):
    rng = random.Random(seed)
    created = []
    for i in range(rows):
        tags = sorted(rng.sample(sorted(WORDS), rng.choice([1, 1, 2])))
        plot = " ".join(rng.choice(WORDS[tag]) for tag in tags for _ in range(6))
        created.append(
            {
                "id": f"tt{seed}-{i}",
                "title": "54" if i == 3 else f"The {rng.choice(WORDS[tags[0]]).title()} {rng.randint(2, 9)}",
                "synopsis": None if i == 5 else f"{plot} in Übersee",
                "Länge": f"{rng.randint(70, 150)},{rng.randint(0, 9)}",
                "section": None if i == 7 else rng.choice(["tv", "cinema"]),
                "released": f"20{rng.randint(10, 20)}-0{rng.randint(1, 9)}-11",
                "tags": None if i == 9 else "|".join(tags),
            }
        )
    return pd.DataFrame(created, dtype=object)


def write_csv(path, frame, sep=";", encoding="utf-8"):
    frame.to_csv(path, sep=sep, encoding=encoding, index=False)


def stderr_of(result):
    """What went to stderr, as one line without the frame around errors."""
    return " ".join(result.stderr.replace("│", " ").split())
