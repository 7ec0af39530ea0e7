"""Values that come with a type -> cells."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, time
from typing import Any

import numpy as np

from simlabel._utils.validation import is_missing
from simlabel.datasets.tables._reading import Cell, filled


def as_cell(value: Any) -> Cell:
    """Numbers, truths, texts and lists of texts as they are; dates as ISO texts; what is nested as JSON.

    Examples
    --------
    >>> as_cell(["sea", "sunset"]), as_cell({"width": 3, "dates": [date(2024, 1, 5)]}), as_cell(" ")
    (['sea', 'sunset'], '{"width":3,"dates":["2024-01-05"]}', None)
    >>> as_cell(datetime(2024, 1, 5)), as_cell(datetime(2024, 1, 5, 12, 30))
    ('2024-01-05', '2024-01-05T12:30:00')
    """
    if isinstance(value, str):
        return filled(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_text)
    return _text(value)


def plain_cell(value: Any) -> Cell:
    """A cell of a frame as JSON can hold it; None for what is missing or no finite number.

    Examples
    --------
    >>> plain_cell(np.int64(3)), plain_cell(float("inf")), plain_cell(["sea"])
    (3, None, ['sea'])
    """
    value = value.item() if isinstance(value, np.generic) else value
    if is_missing(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    cell: Cell = value
    return cell


def _text(value: Any) -> str:
    if isinstance(value, datetime) and value.time() == time() and value.tzinfo is None:
        value = value.date()  # a spreadsheet has dates only as midnights
    return value.isoformat() if isinstance(value, date | time) else str(value)
