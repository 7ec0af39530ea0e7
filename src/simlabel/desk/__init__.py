"""A tagging desk for a small team: store, journal, the model that follows it, HTTP interface and page."""

from simlabel.desk._parsing import ImportOptions, check_table
from simlabel.desk._problems import DeskError
from simlabel.desk._schema import backup
from simlabel.desk._serve import cancel_import, new_token, serve

__all__ = ["backup", "cancel_import", "check_table", "new_token", "serve", "DeskError", "ImportOptions"]
