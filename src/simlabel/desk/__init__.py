"""A tagging desk for a small team: store, journal, the model that follows it, HTTP interface and page."""

from simlabel.desk._backup import backup
from simlabel.desk._imports import ImportOptions
from simlabel.desk._serve import new_token, serve

__all__ = ["backup", "new_token", "serve", "ImportOptions"]
