"""Models in files: safetensors for arrays, JSON for the rest, checksums for all, and never code."""

from simlabel.persistence._arrays import Arrays
from simlabel.persistence._container import read_file, write_file
from simlabel.persistence._functions import register
from simlabel.persistence._layout import ModelFileError, told
from simlabel.persistence._models import model_state, restored_model
from simlabel.persistence._schema import check_fitted
from simlabel.persistence._values import Reader, Writer

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
