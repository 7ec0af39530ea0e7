"""The same sums on many machines: Dask's workers hold the references, and what they give is merged.

Needs ``pip install 'simlabel[dask]'``.
"""

from simlabel.sums.dask._collections import labels_here, remote_rows
from simlabel.sums.dask._connection import ClusterError, find_client, local_client
from simlabel.sums.dask._engine import DaskEngine

__all__ = ["ClusterError", "DaskEngine", "find_client", "labels_here", "local_client", "remote_rows"]
