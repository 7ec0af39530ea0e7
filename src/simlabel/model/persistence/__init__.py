"""Models in files: safetensors for arrays, JSON for the rest, checksums for all, and never code."""

from simlabel.model.persistence._checks import check_fitted, check_n_jobs
from simlabel.model.persistence._file import (
    Arrays,
    ModelFileError,
    error_context,
    header_checksum,
    read_file,
    write_file,
)
from simlabel.model.persistence._models import model_state, restored_model
from simlabel.model.persistence._values import CLASSES, StateReader, Writer, register

__all__ = [
    "Arrays",
    "ModelFileError",
    "StateReader",
    "Writer",
    "check_fitted",
    "check_n_jobs",
    "CLASSES",
    "header_checksum",
    "model_state",
    "read_file",
    "register",
    "restored_model",
    "error_context",
    "write_file",
]
