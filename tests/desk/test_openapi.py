"""What the OpenAPI document describes holds, whatever is sent: no request makes the server fail."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")


@pytest.fixture
def document(taught):
    return schemathesis.openapi.from_url(taught.address + "api/openapi.json")


schema = schemathesis.pytest.from_fixture("document")


@schema.exclude(path="/api/tokens", method="POST").exclude(path="/api/session").parametrize()
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_request_makes_it_fail(case, taught):
    case.call_and_validate(
        checks=[
            schemathesis.checks.not_a_server_error,
            schemathesis.openapi.checks.response_schema_conformance,
            schemathesis.openapi.checks.content_type_conformance,
        ]
    )


def test_the_document_describes_all_of_it(taught):
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
        for method, told in methods.items():
            assert told["description"], (method, path)
