"""The same sums on many machines: Dask's workers hold the references, and their results are merged.

Needs ``pip install 'simlabel[dask]'``.
"""

from simlabel.sums.dask._client import ClusterError, find_client, local_client
from simlabel.sums.dask._engine import DaskEngine
from simlabel.sums.dask._remote import as_remote_rows, gather_labels, remote_rows

__all__ = [
    "ClusterError",
    "DaskEngine",
    "as_remote_rows",
    "find_client",
    "gather_labels",
    "local_client",
    "remote_rows",
]
