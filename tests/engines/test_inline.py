import pytest
from tests.contracts.engine import EngineContract

from roost.engines.inline import InlineEngine


class TestInlineEngine(EngineContract):
    @pytest.fixture
    def make_engine(self):
        return InlineEngine
