"""Every route that is registered keeps its promises (route_compliance.py)."""

from __future__ import annotations

import pytest
from route_compliance import RouteCompliance

from llm_graphrag.routes.registry import all_routes


class TestRoutes(RouteCompliance):
    @pytest.fixture(params=sorted(all_routes().keys() - {"query"}))
    def route(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)


class TestQuery(RouteCompliance):
    name = "query"
    questions = (
        "SELECT head, relation, tail FROM kg_facts WHERE relation = 'director'",
        "SELECT tail FROM kg_facts WHERE head = 'Lena Holt'",
        "SELECT name FROM kg_entities",
    )
    hub_questions = ("SELECT head, relation, tail FROM kg_facts WHERE head = 'Hub'",)
