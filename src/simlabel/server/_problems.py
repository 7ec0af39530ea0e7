"""What can go wrong at a desk, in words that say what to do."""

from __future__ import annotations

from collections.abc import Mapping


class DeskError(ValueError):
    """Something that was asked for cannot be done; `status` and `headers` are what HTTP says of it."""

    status = 400
    headers: Mapping[str, str] = {}

    def __init_subclass__(cls, status: int, **headers: str) -> None:
        cls.status, cls.headers = status, {name.replace("_", "-"): value for name, value in headers.items()}


class Unknown(DeskError, status=401, www_authenticate="Bearer"):
    """It is not known who asks."""


class NotAllowed(DeskError, status=403):
    """Who asks has no right to it."""


class NotFound(DeskError, status=404):
    """There is no such thing."""


class Conflict(DeskError, status=409):
    """It does not fit with what is there now."""


class StoreError(DeskError, status=503):
    """The store cannot be opened or read."""


class Unwritable(DeskError, status=503):
    """The store cannot be written to; reading goes on."""


class DiskFull(Unwritable, status=507):
    """There is no room left."""


class NotYet(DeskError, status=503, retry_after="5"):
    """It will be possible soon."""


class TooLarge(DeskError, status=413):
    """More was sent in one request than is taken."""


class TooMany(DeskError, status=429, retry_after="1"):
    """Somebody has sent more requests than are taken at once."""
