"""A tagging server for a small team: a store with a journal, a model of it, an HTTP API and a page.

The command line uses `serve`, `new_token`, `cancel_import`, `check_import` and `backup`. `TaggingServer` is
the state of a running server, and `ServerStore` its store: functions in `changes` write it, functions in
`views` read it.
"""

from simlabel.server import _changes as changes
from simlabel.server import _views as views
from simlabel.server._desk import IdempotentRequest, TaggingServer
from simlabel.server._journal import ChangeContext, apply_changes, undo
from simlabel.server._learner import Learner
from simlabel.server._middleware import RateLimiter, network_of
from simlabel.server._model import PendingUpdates, changes_since, fit_model, load_model, update_model
from simlabel.server._parsing import (
    ImportOptions,
    ReaderCrashed,
    TableReader,
    check_import,
    limit_memory,
    read_messages,
)
from simlabel.server._predicting import MAX_TEXT, Published, asker
from simlabel.server._schema import StorePaths, backup, create_store
from simlabel.server._serve import (
    Connection,
    cancel_import,
    listen,
    log_once,
    make_app,
    max_connections,
    new_token,
    serve,
)
from simlabel.server._store import BatchWorker, ServerStore
from simlabel.server._transfer import export_items
from simlabel.server._types import (
    Conflict,
    DiskFull,
    Forbidden,
    NotFound,
    ReadOnlyError,
    ServerError,
    StoreError,
    TooLarge,
    TooManyRequests,
)
from simlabel.server._users import User

__all__ = [
    "apply_changes",
    "asker",
    "backup",
    "cancel_import",
    "changes",
    "changes_since",
    "check_import",
    "create_store",
    "export_items",
    "fit_model",
    "limit_memory",
    "read_messages",
    "load_model",
    "listen",
    "log_once",
    "make_app",
    "max_connections",
    "network_of",
    "new_token",
    "serve",
    "undo",
    "update_model",
    "views",
    "PendingUpdates",
    "ChangeContext",
    "Conflict",
    "Connection",
    "ReaderCrashed",
    "TaggingServer",
    "ServerError",
    "ServerStore",
    "DiskFull",
    "ImportOptions",
    "Learner",
    "MAX_TEXT",
    "Forbidden",
    "NotFound",
    "IdempotentRequest",
    "User",
    "StorePaths",
    "Published",
    "RateLimiter",
    "StoreError",
    "TableReader",
    "BatchWorker",
    "TooLarge",
    "TooManyRequests",
    "ReadOnlyError",
]
