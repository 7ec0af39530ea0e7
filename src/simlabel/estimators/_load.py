"""From a model file to the class that wrote it."""

from __future__ import annotations

import os

from simlabel.estimators._auto import AutoSMLClassifier
from simlabel.estimators._sml import SMLClassifier
from simlabel.estimators._tagger import Tagger
from simlabel.model.persistence import ModelFileError, read_file, told

Saved = SMLClassifier | AutoSMLClassifier | Tagger
_CLASSES: dict[str, type[Saved]] = {cls.__name__: cls for cls in (SMLClassifier, AutoSMLClassifier, Tagger)}


def load(path: str | os.PathLike[str], mmap: bool = False) -> Saved:
    """Read a model that `save` wrote. Loading never runs code from the file.

    Parameters
    ----------
    path : str or path
        The file.
    mmap : bool
        False: everything is read and verified now, and the file may then change or go. True: the
        header is verified now, the instances stay in the file, and each block of them is verified when
        it is first touched. The file must then stay as it is: a change of its size or time is an error
        at the next touch, but what is cut off at that very moment ends the process. `save` to the same
        path is safe, since it makes a new file; copying over it is not.

    Returns
    -------
    SMLClassifier, AutoSMLClassifier or Tagger
        As it was saved: it predicts the same, and can be taught, retuned and saved again.

    Raises
    ------
    ModelFileError
        Where the file is damaged, or holds what no saved model holds, with what is wrong and where.

    See Also
    --------
    SMLClassifier.save : Writes such files.
    simlabel.model.persistence.register : Names a function of your own, so that a model that uses it can be saved.

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
    with told(arrays.path):
        cls = _CLASSES.get(state["class"])
        if cls is None:
            raise ModelFileError(f"it holds a {state['class']}, which this version does not have.")
        return cls._restored(state, arrays, mmap)
