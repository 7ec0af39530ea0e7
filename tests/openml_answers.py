"""The answers of OpenML to requests for a small data set."""

import hashlib
import json
from unittest import mock


def answered_by(urlopen):
    """Have a function answer what is asked of OpenML, in a context."""
    return mock.patch("sklearn.datasets._openml.urlopen", urlopen)


ROWS = [(0.5, 1, "TRUE", "FALSE"), (1.5, 2, "FALSE", "FALSE"), (2.5, 3, "TRUE", "TRUE")]
ARFF = (
    "@RELATION tiny\n@ATTRIBUTE Att1 NUMERIC\n@ATTRIBUTE Att2 NUMERIC\n"
    "@ATTRIBUTE Class1 {FALSE, TRUE}\n@ATTRIBUTE Class2 {FALSE, TRUE}\n@DATA\n"
    + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
).encode()


def _feature(index, name, target):
    return {
        "index": str(index),
        "name": name,
        "data_type": "nominal" if target else "numeric",
        "nominal_value": ["FALSE", "TRUE"] if target else [],
        "is_target": str(target).lower(),
        "is_ignore": "false",
        "is_row_identifier": "false",
        "number_of_missing_values": "0",
    }


class OpenML:
    """Answers, and the requests for them."""

    def __init__(self):
        self.data = ARFF
        self.checksum = hashlib.md5(ARFF).hexdigest()
        self.requests = []
        names = ["Att1", "Att2", "Class1", "Class2"]
        self.features = [_feature(j, name, name.startswith("Class")) for j, name in enumerate(names)]

    def answer(self, path):
        self.requests.append(path)
        description = {
            "id": "7",
            "name": "tiny",
            "version": "1",
            "format": "ARFF",
            "status": "active",
            "description": "three rows",
            "url": "https://www.openml.org/data/v1/download/7/tiny.arff",
            "file_id": "7",
            "md5_checksum": self.checksum,
        }
        if path.startswith("/data/v1/download/7"):
            return self.data
        answers = {
            "/api/v1/json/data/7": {"data_set_description": description},
            "/api/v1/json/data/features/7": {"data_features": {"feature": self.features}},
            "/api/v1/json/data/qualities/7": {
                "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "3.0"}]}
            },
        }
        return json.dumps(answers[path]).encode() if path in answers else None
