"""Models in files: safetensors for arrays, JSON for the rest, checksums for all, and never code."""

from simlabel.model.persistence._checks import check_fitted
from simlabel.model.persistence._file import (
    Arrays,
    ModelFileError,
    header_checksum,
    read_file,
    told,
    write_file,
)
from simlabel.model.persistence._models import model_state, restored_model
from simlabel.model.persistence._values import CLASSES, Reader, Writer, register

__all__ = [
    "Arrays",
    "ModelFileError",
    "Reader",
    "Writer",
    "check_fitted",
    "CLASSES",
    "header_checksum",
    "model_state",
    "read_file",
    "register",
    "restored_model",
    "told",
    "write_file",
]
