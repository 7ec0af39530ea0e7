"""A tagging desk for a small team: store, journal, the model that follows it, HTTP interface and page."""

from simlabel.desk._schema import backup
from simlabel.desk._serve import new_token, serve
from simlabel.desk._transfer import ImportOptions

__all__ = ["backup", "new_token", "serve", "ImportOptions"]
