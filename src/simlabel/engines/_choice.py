"""Which engine a name, an object or "auto" means."""

from __future__ import annotations

from typing import Any

from simlabel._registry import Registry
from simlabel.engines._base import Engine
from simlabel.engines._exact import Exact

ENGINES: Registry[Engine] = Registry("engine", Engine, [Exact])


def resolve_engine(spec: Any) -> Engine:
    """Turn a name or an object into an engine."""
    engine = Exact() if isinstance(spec, str) and spec == "auto" else ENGINES.resolve(spec)
    engine.check()
    return engine
