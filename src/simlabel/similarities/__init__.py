"""Similarities: what it means that two instances are alike.

Each is one small class in a file of its own that declares how it is computed (`form`) and its
traits. They can be added and multiplied, and restricted to columns.
"""

from simlabel._utils.registry import Registry
from simlabel.similarities._base import Form, Grid, Leaf, Similarity
from simlabel.similarities._chi_square import ChiSquare
from simlabel.similarities._columns import ColumnView, OnColumns
from simlabel.similarities._composite import Product, Scaled, Sum
from simlabel.similarities._coordinate import CoordinateSimilarity
from simlabel.similarities._cosine import Cosine
from simlabel.similarities._function import Function
from simlabel.similarities._jaccard import Jaccard
from simlabel.similarities._laplacian import Laplacian
from simlabel.similarities._polynomial import Linear, Polynomial, Quadratic
from simlabel.similarities._precomputed import Precomputed
from simlabel.similarities._rbf import RBF

SIMILARITIES: Registry[Similarity] = Registry(
    "similarity",
    Similarity,
    [RBF, Laplacian, Polynomial, Linear, Quadratic, Cosine, ChiSquare, Jaccard, Precomputed],
    from_callable=Function,
)

__all__ = [
    "SIMILARITIES",
    "RBF",
    "Laplacian",
    "Polynomial",
    "Linear",
    "Quadratic",
    "Cosine",
    "ChiSquare",
    "Jaccard",
    "Precomputed",
    "Function",
    "Sum",
    "Product",
    "Scaled",
    "OnColumns",
    "ColumnView",
    "Similarity",
    "CoordinateSimilarity",
    "Form",
    "Grid",
    "Leaf",
]
