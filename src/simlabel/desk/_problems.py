"""What can go wrong at a desk, in words that say what to do."""

from __future__ import annotations


class DeskError(ValueError):
    """Something that was asked for cannot be done; `status` is what HTTP calls that."""

    status = 400

    def __init_subclass__(cls, status: int) -> None:
        cls.status = status


class Unknown(DeskError, status=401):
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
