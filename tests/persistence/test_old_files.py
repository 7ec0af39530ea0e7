"""Models that earlier versions wrote open, and predict what they predicted then."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from simlabel import load

FILES = sorted((Path(__file__).parent / "files").glob("format_*/*.simlabel"))


def test_the_files_are_there():
    assert {path.stem for path in FILES} >= {
        "plain",
        "ridge_mixing",
        "sparse",
        "composite",
        "sketch",
        "single",
    }


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.filterwarnings("ignore::simlabel.calibration.ShareWarning")
def test_predicts_as_it_did(path, mmap):
    expected = json.loads(path.with_suffix(".json").read_text())
    queries = np.array(expected["queries"])
    model = load(path, mmap=mmap)
    Q = sp.csr_array(queries) if expected["sparse"] else queries
    assert [[str(label) for label in labels] for labels in model.predict_sets(Q)] == expected["sets"]
    np.testing.assert_allclose(model.label_weights(Q), expected["scores"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(Q), expected["probabilities"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_lives_on(path, tmp_path):
    """What is saved again is the same model, in this version's words."""
    model = load(path)
    queries = np.array(json.loads(path.with_suffix(".json").read_text())["queries"])
    model.save(tmp_path / "again.simlabel")
    again = load(tmp_path / "again.simlabel")
    np.testing.assert_array_equal(again.label_weights(queries), model.label_weights(queries))
    assert str(again.get_params()) == str(model.get_params())
