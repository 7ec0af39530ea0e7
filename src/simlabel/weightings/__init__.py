"""Weightings psi: how much a similarity of a given strength counts."""

from simlabel.support.registry import Registry
from simlabel.weightings._weightings import CustomWeighting, Cutoff, Power, TopK, Weighting

WEIGHTINGS: Registry[Weighting] = Registry(
    "weighting", Weighting, [Power, TopK, Cutoff], from_callable=CustomWeighting
)


def resolve_weighting(spec: object) -> Weighting | None:
    """Turn a name, an object or a callable into a weighting; None stays None."""
    return None if spec is None else WEIGHTINGS.resolve(spec)


__all__ = ["WEIGHTINGS", "Power", "TopK", "Cutoff", "CustomWeighting", "Weighting", "resolve_weighting"]
