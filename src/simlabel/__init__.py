"""Similarity-based multi-label learning."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

__all__ = ["SMLClassifier", "AutoSMLClassifier", "Tagger", "similarity_sums", "load", "SimlabelWarning"]

if TYPE_CHECKING:
    from simlabel._utils.advice import SimlabelWarning
    from simlabel.estimators import AutoSMLClassifier, SMLClassifier, Tagger, load
    from simlabel.sums import similarity_sums
else:
    _ELSEWHERE = {"similarity_sums": "sums", "SimlabelWarning": "_utils.advice"}

    def __getattr__(name: str) -> object:
        """Import a public name or a package on first use: the command line needs few of them."""
        if name in __all__:
            home = _ELSEWHERE.get(name, "estimators")
            globals()[name] = getattr(import_module(f"simlabel.{home}"), name)
            return globals()[name]
        try:
            return import_module(f"simlabel.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"simlabel.{name}":
                raise
            raise AttributeError(f"module 'simlabel' has no attribute {name!r}") from None

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
