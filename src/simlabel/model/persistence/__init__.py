"""Models in files: safetensors for arrays, JSON for the rest, checksums for all, and never code."""

from simlabel.model.persistence._arrays import Arrays
from simlabel.model.persistence._container import read_file, write_file
from simlabel.model.persistence._functions import register
from simlabel.model.persistence._layout import ModelFileError, told
from simlabel.model.persistence._models import model_state, restored_model
from simlabel.model.persistence._schema import check_fitted
from simlabel.model.persistence._values import Reader, Writer

__all__ = [
    "Arrays",
    "ModelFileError",
    "Reader",
    "Writer",
    "check_fitted",
    "model_state",
    "read_file",
    "register",
    "restored_model",
    "told",
    "write_file",
]
