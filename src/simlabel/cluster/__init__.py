"""The same sums on many machines: Dask's workers hold the references, and what they give is merged.

Needs ``pip install 'simlabel[dask]'``.
"""

from simlabel.cluster._collections import labels_here, remote_rows
from simlabel.cluster._connection import ClusterError
from simlabel.cluster._engine import DaskEngine

__all__ = ["ClusterError", "DaskEngine", "labels_here", "remote_rows"]
