"""`simlabel predict` on a cluster."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from simlabel import SMLClassifier
from simlabel.cli import app
from simlabel.similarities import RBF
from simlabel.sums import Exact
from simlabel.sums.dask import DaskEngine


@pytest.fixture
def files(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(300, 3))
    frame = pd.DataFrame(X, columns=list("abc"))
    sets = [{"up"} if row[0] > 0 else {"down", "left"} for row in X]
    SMLClassifier(RBF(2.0)).fit(frame, sets).save("m.simlabel")
    pd.DataFrame(rng.normal(size=(500, 3)), columns=list("abc")).to_csv("new.csv", index=False)


def predicted(*options, code=0):
    result = CliRunner().invoke(app, ["predict", "m.simlabel", "new.csv", *options])
    assert result.exit_code == code, result.output
    return result


def test_on_a_cluster_and_on_workers_of_its_own(client, files):
    predicted("-o", "here.csv", "--scores")
    address = client.scheduler.address
    for name, options in {"there": ["--cluster", address], "own": ["--workers", "2"]}.items():
        result = predicted("-o", f"{name}.csv", "--scores", *options)
        assert "dashboard: http://" in result.stderr
        here, there = pd.read_csv("here.csv"), pd.read_csv(f"{name}.csv")
        assert here["labels"].tolist() == there["labels"].tolist()
        scores = [column for column in here if column.startswith("score:")]
        np.testing.assert_allclose(there[scores], here[scores], rtol=1e-9)


def test_misuse(files):
    assert "exclude each other" in predicted("--cluster", "tcp://x:1", "--workers", "2", code=2).output


def test_a_fitted_model_moves_to_a_cluster_and_back(client, rng):
    X, Q = rng.normal(size=(50, 3)), rng.normal(size=(9, 3))
    model = SMLClassifier(RBF(1.0)).fit(X, np.eye(2, dtype=int)[(X[:, 0] > 0).astype(int)])
    scores = model.label_weights(Q)
    np.testing.assert_allclose(model.set_engine(DaskEngine(client)).label_weights(Q), scores)
    assert isinstance(model.engine, DaskEngine)
    np.testing.assert_allclose(model.set_engine(Exact()).label_weights(Q), scores)
