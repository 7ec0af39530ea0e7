"""Names for what compiled loops and their emitters are given."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]
Bools = npt.NDArray[np.bool_]
Kernel = Callable[..., None]
Side = tuple[Floats, Floats]  # rows, plain or in panels, and the numbers beside them
Entries = tuple[Ints, Ints, Ints, Ints, Floats]  # firsts, labels, begins, rows, factors: see `sort_by_label`
Influence = tuple[Floats, Entries]
LeftOut = tuple[Ints, Floats]
Back = tuple[Floats, Floats, bool]
Values = list[ir.Value]
