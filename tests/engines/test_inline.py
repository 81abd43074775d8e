import json

import pytest
from tests.contracts.engine import EngineContract

from roost.engines import inline
from roost.engines.inline import InlineEngine


class TestInlineEngine(EngineContract):
    @pytest.fixture
    def make_engine(self):
        return InlineEngine

    @pytest.fixture
    def abilities(self):
        return inline.abilities(None)

    def handle(self, plan, thread, answers):
        return json.dumps({"run_id": plan.run_id})
