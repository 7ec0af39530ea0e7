"""Samplers: sum over some of the references, so that the expected sum is the sum over all."""

from simlabel.sampling._samplers import (
    SAMPLERS,
    Balanced,
    Distribution,
    Sampler,
    UniformSampler,
    draw,
    resolve_sampler,
)

__all__ = [
    "SAMPLERS",
    "Balanced",
    "Distribution",
    "Sampler",
    "UniformSampler",
    "draw",
    "resolve_sampler",
]
