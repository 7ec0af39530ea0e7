"""What can go wrong at a desk, in words that say what to do; `api` makes problem+json of it."""

from __future__ import annotations


class DeskError(ValueError):
    """Something that was asked for cannot be done; `status` is what HTTP calls it."""

    status, title = 400, "This cannot be done"


class NotFound(DeskError):
    """There is no such thing."""

    status, title = 404, "Not found"


class Conflict(DeskError):
    """It does not fit with what is there now."""

    status, title = 409, "It has changed meanwhile"


class NotAllowed(DeskError):
    """Who asks has no right to it."""

    status, title = 403, "Not allowed"


class Unknown(DeskError):
    """It is not known who asks."""

    status, title = 401, "Who is asking?"


class TooMuch(DeskError):
    """More than is taken at once."""

    status, title = 413, "Too large"


class TooFast(DeskError):
    """More than is taken in a second."""

    status, title = 429, "Too many requests"


class NotYet(DeskError):
    """It needs a model, and there is none so far."""

    status, title = 409, "No model yet"


class Unwritable(DeskError):
    """The store cannot be written to; reading goes on."""

    status, title = 503, "The store cannot be written to"


class DiskFull(Unwritable):
    """There is no room left."""

    status, title = 507, "The disk is full"


class StoreError(DeskError):
    """The store cannot be opened or read."""

    status, title = 503, "The store cannot be read"
