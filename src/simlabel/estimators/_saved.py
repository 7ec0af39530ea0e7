"""A fitted classifier in one file, and back."""

from __future__ import annotations

import os
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from simlabel._utils.threads import within_n_jobs
from simlabel.estimators._contract import FittedBase
from simlabel.model.persistence import (
    Arrays,
    Reader,
    Writer,
    check_fitted,
    model_state,
    restored_model,
    told,
    write_file,
)

#: what is kept beside the model itself
SAVED = (
    "n_features_in_",
    "feature_names_in_",
    "tuning_",
    "label_separator_",
    "title_column_",
    "label_column_",
    "tried_",
    "n_picked_",
)


class SavedMixin(FittedBase):
    """Writes a classifier that publishes an immutable model, and makes it anew from what was written."""

    @within_n_jobs
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, for `simlabel.load`.

        Arrays are stored as safetensors, the rest as JSON, all under checksums. The file is written
        beside its place and then renamed: at any moment the old model or the new one is there, whole.
        A similarity, weighting or rule given as a Python function is saved by the name under which it
        was registered (`simlabel.model.persistence.register`); scikit-learn transformers cannot be saved.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from simlabel import SMLClassifier
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "photos.simlabel"
        >>> SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}]).save(path)
        """
        check_is_fitted(self)
        writer = Writer()
        params = {name: writer.encode(value, name) for name, value in self.get_params(deep=False).items()}
        fitted = {name: writer.encode(getattr(self, name), name) for name in SAVED if hasattr(self, name)}
        model = model_state(self._model, writer)
        state = {"class": type(self).__name__, "params": params, "fitted": fitted, "model": model}
        write_file(path, state, writer.arrays)

    @classmethod
    def _restored(cls, state: dict[str, Any], arrays: Arrays, mmap: bool) -> Self:
        reader = Reader(arrays)
        with told("params"):
            made = cls(**{name: reader.decode(value) for name, value in state["params"].items()})
        with told("fitted"):
            fitted = {name: reader.decode(value) for name, value in state["fitted"].items() if name in SAVED}
            check_fitted(fitted)
        made.__dict__ |= fitted
        made._publish(restored_model(state["model"], reader, fitted.get("n_features_in_"), mmap=mmap))
        return made
