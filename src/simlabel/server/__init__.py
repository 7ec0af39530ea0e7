"""A tagging server for a small team: a store with a journal, a model of it, an HTTP API and a page.

The command line uses `serve`, `new_token`, `cancel_import`, `check_table` and `backup`. `Desk` is the state
of a running server and `DeskStore` its store, which the functions in `changes` and `views` write and read.
"""

from simlabel.server import _changes as changes
from simlabel.server import _views as views
from simlabel.server._desk import Desk, Once
from simlabel.server._journal import By, apply_changes, undo
from simlabel.server._learner import Learner
from simlabel.server._middleware import Rates, network_of
from simlabel.server._model import Beside, changes_since, fit_model, load_model, update_model
from simlabel.server._parsing import (
    Crashed,
    ImportOptions,
    TableReader,
    check_table,
    limit_memory,
    read_messages,
)
from simlabel.server._people import Person
from simlabel.server._predicting import MOST_TEXT, Published, asker
from simlabel.server._schema import Places, backup, create_store
from simlabel.server._serve import (
    Connection,
    cancel_import,
    listen,
    log_once,
    make_app,
    most_connections,
    new_token,
    serve,
)
from simlabel.server._store import DeskStore, Together
from simlabel.server._transfer import export_items
from simlabel.server._types import (
    Conflict,
    DeskError,
    DiskFull,
    NotAllowed,
    NotFound,
    StoreError,
    TooLarge,
    TooMany,
    Unwritable,
)

__all__ = [
    "apply_changes",
    "asker",
    "backup",
    "cancel_import",
    "changes",
    "changes_since",
    "check_table",
    "create_store",
    "export_items",
    "fit_model",
    "limit_memory",
    "read_messages",
    "load_model",
    "listen",
    "log_once",
    "make_app",
    "most_connections",
    "network_of",
    "new_token",
    "serve",
    "undo",
    "update_model",
    "views",
    "Beside",
    "By",
    "Conflict",
    "Connection",
    "Crashed",
    "Desk",
    "DeskError",
    "DeskStore",
    "DiskFull",
    "ImportOptions",
    "Learner",
    "MOST_TEXT",
    "NotAllowed",
    "NotFound",
    "Once",
    "Person",
    "Places",
    "Published",
    "Rates",
    "StoreError",
    "TableReader",
    "Together",
    "TooLarge",
    "TooMany",
    "Unwritable",
]
