"""The same sums on many machines: Dask's workers hold the references, and their results are merged.

Needs ``pip install 'simlabel[dask]'``.
"""

from simlabel.cluster._client import ClusterError, find_client, local_client
from simlabel.cluster._engine import DaskEngine
from simlabel.cluster._remote import as_rows, labels_here, remote_rows

__all__ = [
    "ClusterError",
    "DaskEngine",
    "as_rows",
    "find_client",
    "labels_here",
    "local_client",
    "remote_rows",
]
