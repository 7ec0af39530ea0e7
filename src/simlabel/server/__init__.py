"""A tagging desk for a small team: store, journal, the model that follows it, HTTP interface and page."""

from simlabel.server._parsing import ImportOptions, check_table
from simlabel.server._problems import DeskError
from simlabel.server._schema import backup
from simlabel.server._serve import cancel_import, new_token, serve

__all__ = ["backup", "cancel_import", "check_table", "new_token", "serve", "DeskError", "ImportOptions"]
