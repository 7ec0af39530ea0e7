"""
Tag films from their texts
==========================

A raw table goes in, as it is: titles, synopses, lists of names, empty cells. ``Tagger`` finds out what each
column holds and how much it should count.
"""

# %%
# A small catalogue, made up: what a film is about decides its genres, and its text is drawn from words that
# go with them.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from simlabel import Tagger

WORDS = {
    "crime": "detective murder police heist gang witness trial bank thief lawyer prison alibi clue "
    "weapon inspector robbery ransom suspect evidence informer smuggler judge verdict",
    "romance": "love wedding kiss summer letter stranger paris bride heart dance rose secret proposal "
    "reunion jealous promise divorce longing affair honeymoon sister neighbor garden",
    "space": "planet ship crew orbit alien signal captain rocket moon station galaxy astronaut comet "
    "colony robot gravity probe oxygen hull asteroid engine mission landing",
    "family": "school dog grandmother holiday village friends children birthday puppy teacher camp "
    "treehouse twins kite circus pony snow picnic bicycle farm aunt uncle kitten",
}
rng = np.random.default_rng(0)


def film(number):
    genres = rng.choice(list(WORDS), rng.integers(1, 3), replace=False)
    words = rng.choice(" ".join(WORDS[g] for g in genres).split(), 8)
    other = rng.choice(["the", "a", "of", "in", "two", "old", "new", "young", "city", "night", "day"], 8)
    synopsis = " ".join(rng.permutation([*words, *other]))
    cast = ", ".join(rng.choice(["Ada Low", "Ben Marsh", "Cleo Dane", "Dev Rao"], 2, replace=False))
    return {
        "id": f"F{number:03}",
        "title": " ".join(words[:2]).title(),
        "synopsis": synopsis,
        "cast": cast if rng.random() > 0.1 else None,
        "channel": rng.choice(["one", "two"], p=[0.8, 0.2] if "family" in genres else [0.4, 0.6]),
        "genres": ", ".join(sorted(genres)),
    }


films = pd.DataFrame([film(i) for i in range(260)])
print(films.head(3).to_string(index=False, max_colwidth=40))

# %%
# Fit: the labels are texts with a separator, which is found out.
known, new = films[:200], films[200:]
tagger = Tagger(id_column="id").fit(known.drop(columns="genres"), known["genres"])
print(tagger.encoder_)

# %%
# Predict, and see how often the whole set is right.
rows = new.drop(columns="genres")
print(tagger.predict(rows)[:3])
print(f"exactly right: {tagger.score(rows, new['genres']):.0%}")

# %%
# Ask why: the words that decided, and the labeled films that are like it.
why = tagger.explain(rows[:1], top=3)
print(why)

# %%
# The same as a picture.
why.plot(0)
plt.show()
