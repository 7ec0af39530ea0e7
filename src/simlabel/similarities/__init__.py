"""Similarities: functions of two rows that are larger for more similar rows.

A similarity is a class that declares how it is computed (`form`) and its traits. Similarities can be
added, multiplied, scaled, and restricted to columns.
"""

from simlabel._utils.registry import Registry
from simlabel.similarities._base import CoordinateSimilarity, Form, Grid, Leaf, Similarity
from simlabel.similarities._columns import ColumnView, OnColumns
from simlabel.similarities._composite import Product, Scaled, Sum
from simlabel.similarities._cosine import Cosine
from simlabel.similarities._exponential import RBF, ChiSquare, Laplacian
from simlabel.similarities._function import Function, Precomputed
from simlabel.similarities._jaccard import Jaccard
from simlabel.similarities._polynomial import Linear, Polynomial, Quadratic, whole_power

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
    "whole_power",
]
