"""Writes a table of made-up programmes, like those of a broadcaster, to try a tagging desk on.

python examples/programmes.py programmes.csv
simlabel serve desk/ --import programmes.csv --label-column genres --id id
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

_TOPICS = {
    "Crime": "detective murder police trial thief prison witness alibi robbery inspector",
    "Romance": "love wedding kiss heart letter dance summer promise bride secret",
    "Nature": "forest river wolves whales jungle glacier birds ocean desert migration",
    "History": "empire war castle king revolution archive treaty dynasty soldiers ruins",
    "Science": "laboratory planet experiment telescope energy atom robot theory orbit signal",
    "Comedy": "neighbor mishap landlord joke roommates chaos boss disguise holiday prank",
    "Sport": "match champion coach league stadium final training rivals medal season",
    "Cooking": "chef kitchen recipe bread market spices restaurant dessert harvest oven",
}
_FRAMES = (
    "A {0} and a {1} meet: the {2} changes everything, and the {3} is not what it seems.",
    "Six stories about the {0}, the {1} and the {2}, told by those who know the {3}.",
    "When the {0} is lost, a {1} leads from the {2} to the {3}.",
)
_PLACES = ("Lisbon", "the north", "a small island", "Vienna", "the coast", "the capital", "the mountains")


def write_programmes(path: Path, rows: int = 300, seed: int = 0) -> None:
    """Write a table of programmes; two thirds have genres, the others are left to the desk."""
    rng = random.Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title", "synopsis", "minutes", "genres"])
        for number in range(rows):
            genres = sorted(rng.sample(sorted(_TOPICS), rng.choice([1, 1, 2])))
            words = [rng.choice(_TOPICS[genre].split()) for genre in (genres * 4)[:4]]
            rng.shuffle(words)
            title = f"The {words[0].title()} of {rng.choice(_PLACES)}"
            tags = "; ".join(genres) if number % 3 else ""
            writer.writerow(
                [f"p{number}", title, rng.choice(_FRAMES).format(*words), rng.randint(20, 120), tags]
            )


if __name__ == "__main__":
    write_programmes(Path(sys.argv[1]))
