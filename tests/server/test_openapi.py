"""The OpenAPI document is correct, and no request that it allows makes the server fail."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")
CHECKS = [checks.response_schema_conformance, checks.content_type_conformance]

_SKIPPED = {
    ("POST", "/api/tokens"),
    ("DELETE", "/api/session"),
}  # a first token would refuse the requests without one


@pytest.fixture
def document(taught):
    return schemathesis.openapi.from_url(taught.address + "api/openapi.json")


def test_no_request_makes_the_server_fail(document, taught):
    checked = 0
    for found in document.get_all_operations():
        operation = found.ok()
        if (operation.method.upper(), operation.path) in _SKIPPED:
            continue

        @settings(
            max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
        )
        @given(case=operation.as_strategy())
        def fails_never(case):
            answer = case.call(base_url=taught.address)
            assert answer.status_code < 500, (case.as_curl_command(), answer.text)
            case.validate_response(answer, checks=CHECKS)

        fails_never()
        checked += 1
    assert checked > 40
    assert taught.get("/healthz")["status"] == "ok"


def test_document_describes_all_routes(taught):
    paths = taught.get("/api/openapi.json")["paths"]
    wanted = "suggest items queue labels imports jobs export suspicious quality retune"
    wanted += " changes undo tokens session status"
    for word in wanted.split():
        assert any(path.startswith(f"/api/{word}") for path in paths), word
    for path in (
        "/healthz",
        "/readyz",
        "/metrics",
        "/v1/projects/{project_id}/learn",
        "/api/items/{number}/forget",
    ):
        assert path in paths
    for path, methods in paths.items():
        for method, message in methods.items():
            assert message["description"], (method, path)
