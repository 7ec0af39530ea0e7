"""
A similarity of your own
========================

Anything that can be compared can be labeled: strings, sets, graphs. A function of two things is enough;
one of two blocks of them is quicker.
"""

# %%
# Strings by the letters that they share in a row: words in four languages, by language.
import matplotlib.pyplot as plt
import numpy as np

from simlabel import SMLClassifier
from simlabel.similarities import Function

WORDS = {
    "English": "window school teacher night weather thought through water winter knight",
    "German": "fenster schule lehrer nacht wetter gedanke durch wasser winter ritter",
    "Italian": "finestra scuola maestro notte tempo pensiero attraverso acqua inverno cavaliere",
    "Finnish": "ikkuna koulu opettaja talvi ajatus vesi ritari tunturi järvi metsä",
}
words = [word for some in WORDS.values() for word in some.split()]
languages = [{language} for language, some in WORDS.items() for _ in some.split()]


def pieces(word):
    return {f" {word} "[i : i + 2] for i in range(len(word) + 1)}


def alike(a, b):
    """Share of pairs of letters that both have."""
    return len(pieces(a) & pieces(b)) / len(pieces(a) | pieces(b))


model = SMLClassifier(alike).fit(words, languages)
for word in ("thoughtful", "schulfenster", "temporale", "vesijärvi"):
    print(word, model.predict_sets([word])[0])

# %%
# The same, two blocks at a time, on sets of ingredients: what a dish is, by what is in it.
DISHES = {
    "bread": ({"flour", "water", "yeast", "salt"}, {"baked"}),
    "cake": ({"flour", "egg", "sugar", "butter"}, {"baked", "sweet"}),
    "soup": ({"water", "carrot", "onion", "salt"}, {"cooked"}),
    "jam": ({"berries", "sugar", "lemon"}, {"cooked", "sweet"}),
    "pancake": ({"flour", "egg", "milk", "salt"}, {"fried"}),
    "crepe": ({"flour", "egg", "milk", "sugar"}, {"fried", "sweet"}),
    "omelette": ({"egg", "salt", "onion"}, {"fried"}),
}


def overlaps(A, B):
    return np.array([[len(a & b) / len(a | b) for b in B] for a in A])


names = list(DISHES)
sets, kinds = [DISHES[name][0] for name in names], [DISHES[name][1] for name in names]
dishes = SMLClassifier(Function(overlaps, blockwise=True)).fit(sets, kinds, ids=names)
compote = {"berries", "sugar", "water"}
print("compote:", dishes.predict_sets([compote])[0])

# %%
# What it rests on: the similarity of the new dish to every known one.
similarity = overlaps([compote], sets)[0]
order = np.argsort(similarity)
plt.figure(figsize=(6, 3), layout="constrained")
plt.barh([f"{names[i]}: {', '.join(sorted(kinds[i]))}" for i in order], similarity[order], color="#2a78b5")
plt.xlabel("similarity to compote")
plt.show()
