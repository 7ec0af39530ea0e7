"""Samplers: sum over some of the references, so that the expected sum is the sum over all."""

from typing import TYPE_CHECKING

from simlabel.sampling._samplers import (
    SAMPLERS,
    Balanced,
    Distribution,
    Sampler,
    UniformSampler,
    draw,
    resolve_sampler,
)
from simlabel.support.renamed import renamed

__all__ = [
    "SAMPLERS",
    "Balanced",
    "Distribution",
    "Sampler",
    "UniformSampler",
    "draw",
    "resolve_sampler",
]

if not TYPE_CHECKING:  # with it every name would be one of the module
    __getattr__ = renamed(__name__, {"Uniform": "UniformSampler"})
