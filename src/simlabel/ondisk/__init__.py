"""Rows larger than memory: mapped arrays, folders of npy and npz files, Parquet, Zarr."""

from simlabel.ondisk._open import as_rows, open_rows

__all__ = ["as_rows", "open_rows"]
