"""Load a model file as the class that wrote it."""

from __future__ import annotations

import os

from simlabel.estimators._auto import AutoSMLClassifier
from simlabel.estimators._fitted import SAVED
from simlabel.estimators._sml import SMLClassifier
from simlabel.estimators._tagger import Tagger
from simlabel.model.persistence import (
    ModelFileError,
    StateReader,
    check_fitted,
    check_n_jobs,
    error_context,
    read_file,
    restored_model,
)

Classifier = SMLClassifier | AutoSMLClassifier | Tagger
_CLASSES: dict[str, type[Classifier]] = {
    cls.__name__: cls for cls in (SMLClassifier, AutoSMLClassifier, Tagger)
}


def load(path: str | os.PathLike[str], mmap: bool = False) -> Classifier:
    """Read a model that `save` wrote. Loading never runs code from the file.

    Parameters
    ----------
    path : str or path
        The file.
    mmap : bool
        False: read and verify everything now; the file may then change or be deleted. True: verify the
        header now, leave the instances in the file, and verify each block of them on first use. The file
        must then stay as it is: a change of its size or time is an error at the next use, but truncating
        it during a read ends the process. `save` to the same path is safe, since it writes a new file;
        copying over it is not.

    Returns
    -------
    SMLClassifier, AutoSMLClassifier or Tagger
        The model that was saved: it predicts the same, and can be updated, retuned and saved again.

    Raises
    ------
    ModelFileError
        If the file is damaged, or holds what no saved model holds: what is wrong, and where.

    See Also
    --------
    SMLClassifier.save : Writes such files.
    simlabel.model.persistence.register : Names your own function, so that a model with it can be saved.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from simlabel import SMLClassifier, load
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "photos.simlabel"
    >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
    >>> model.save(path)
    >>> load(path).predict([[0.2, 0.9]])
    [{'trees'}]
    """
    state, arrays = read_file(path, mapped=mmap)
    with error_context(arrays.path):
        cls = _CLASSES.get(state["class"])
        if cls is None:
            raise ModelFileError(f"it holds a {state['class']}, which this version does not have.")
        reader = StateReader(arrays)
        with error_context("params"):
            model = cls(**{name: reader.decode(value) for name, value in state["params"].items()})
            check_n_jobs(model.n_jobs)
        with error_context("fitted"):
            fitted = {name: reader.decode(value) for name, value in state["fitted"].items() if name in SAVED}
            check_fitted(fitted)
        model.__dict__ |= fitted
        model._publish(restored_model(state["model"], reader, fitted.get("n_features_in_"), mmap=mmap))
        return model
