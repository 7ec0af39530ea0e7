"""What the library says, in the words of the shell: options as they are typed."""

from __future__ import annotations

import re
from collections.abc import Collection

# parameters of the library that are options of another name
_CALLED = {
    "label_separator": "--separator",
    "id_column": "--id",
    "title_column": "--title",
    "group_column": "--group-column",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "retune()": "--retune",
    "normalizer": "--normalizer",
    "influence": "--influence",
    "AutoSMLClassifier()": "--auto",
}
_KIND = re.compile(r"""columns=\{(['"])(.*?)\1: '(\w+)'\}""")


def spelled(name: str) -> str:
    """How a parameter is typed.

    Examples
    --------
    >>> spelled("label_column"), spelled("id_column")
    ('--label-column', '--id')
    """
    return _CALLED.get(name, f"--{name.replace('_', '-')}")


def in_shell(text: str, options: Collection[str]) -> str:
    """A message of the library with its parameters as options; what stands in quotes is data.

    Parameters
    ----------
    options : collection of str
        The verb's parameters. One that is a plain word, such as ``format``, is an option only where it is
        clear that it is none of the sentence's.

    Examples
    --------
    >>> in_shell("give labels=['a', 'b'] or label_column='tags'; got 'labels='", ["labels", "label_column"])
    "give --labels a,b or --label-column 'tags'; got 'labels='"
    >>> in_shell("format must be one of 'csv', got 'x'.", ["format"])
    "--format must be one of 'csv', got 'x'."
    """
    text = _KIND.sub(r"--\3 \2", text)
    names = "|".join(re.escape(name) for name in {*options, *_CALLED})
    certain = "|".join(re.escape(name) for name in {*options, *_CALLED} if not name.isalpha())
    outside = r"(?<![\w'\"./-])"
    text = re.sub(rf"{outside}({names})=\[(.*?)\]", lambda m: f"{spelled(m[1])} {_listed(m[2])}", text)
    text = re.sub(rf"{outside}({names})=", lambda m: f"{spelled(m[1])} ", text)
    text = re.sub(rf"((?:^|: |; ))({names})(?= (?:must|means))", lambda m: m[1] + spelled(m[2]), text)
    text = re.sub(r"(?<=it takes )[\w, ]+(?=\.)", lambda m: ", ".join(map(spelled, m[0].split(", "))), text)
    text = re.sub(rf"option '({names})'", lambda m: f"option {spelled(m[1])}", text)
    return re.sub(rf"{outside}({certain})(?![\w'\"/-]|\.\w)", lambda m: spelled(m[1]), text)


def _listed(items: str) -> str:
    """The items of a Python list as one word."""
    return ",".join(item.strip(" '\"") for item in items.split(","))
