"""What can go wrong at a desk, in words that say what to do; `status` is what HTTP calls it."""

from __future__ import annotations


class DeskError(ValueError):
    """Something that was asked for cannot be done."""

    status = 400


class Unknown(DeskError):
    """It is not known who asks."""

    status = 401


class NotAllowed(DeskError):
    """Who asks has no right to it."""

    status = 403


class NotFound(DeskError):
    """There is no such thing."""

    status = 404


class Conflict(DeskError):
    """It does not fit with what is there now."""

    status = 409


class StoreError(DeskError):
    """The store cannot be opened or read."""

    status = 503


class Unwritable(DeskError):
    """The store cannot be written to; reading goes on."""

    status = 503


class DiskFull(Unwritable):
    """There is no room left."""

    status = 507
