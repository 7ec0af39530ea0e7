"""Mulan names the labels of an ARFF file in an XML file beside it."""

from __future__ import annotations

from pathlib import Path
from xml.parsers.expat import ExpatError, ParserCreate

from simlabel.datasets._errors import DatasetError, check_regular, quote
from simlabel.datasets._lines import stem


def xml_beside(path: Path) -> Path | None:
    """Return the XML file whose name the name of an ARFF file begins with: the longest, if there are several.

    ``Corel5k-train-sparse.arff`` belongs to ``Corel5k.xml``, but not ``yeast2.arff`` to ``yeast.xml``.
    """
    own = stem(path)
    ends = [len(own), *(at for at in range(len(own) - 1, 0, -1) if own[at] in "-_.")]
    candidates = (path.with_name(f"{own[:end]}.xml") for end in ends)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def read_label_names(path: Path) -> dict[str, int]:
    """Names in a Mulan XML file, with their lines; labels nested in labels are labels like the others."""
    check_regular(path)
    names: dict[str, int] = {}
    parser = ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        tag = tag.rpartition(":")[2]
        if tag == "labels":
            return
        if tag != "label" or "name" not in attributes:
            raise DatasetError(f'expected <label name="...">, found <{tag}>', path, line)
        if attributes["name"] in names:
            raise DatasetError(f"expected a new label, found {quote(attributes['name'])} twice", path, line)
        names[attributes["name"]] = line

    def refuse(*_: object) -> None:  # entities can grow without bound, and label files need none
        raise DatasetError("expected labels only, found a document type", path, parser.CurrentLineNumber)

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(path.read_bytes(), True)
    except DatasetError:
        raise
    except OSError as error:
        raise DatasetError(f"expected a Mulan file of labels; {error.strerror}", path) from None
    except (ExpatError, ValueError, LookupError) as error:
        line = parser.ErrorLineNumber or 1
        raise DatasetError(f"expected an XML file of labels; {error}", path, line) from None
    if not names:
        raise DatasetError('expected at least one <label name="...">, found none', path)
    return names
