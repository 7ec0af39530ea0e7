"""Models in files: safetensors for arrays, JSON for the rest, checksums for all, and never code."""

from simlabel.persistence._file import Arrays, ModelFileError, header_checksum, read_file, told, write_file
from simlabel.persistence._functions import register
from simlabel.persistence._models import model_state, restored_model
from simlabel.persistence._schema import check_fitted
from simlabel.persistence._stages import CLASSES
from simlabel.persistence._values import Reader, Writer

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
