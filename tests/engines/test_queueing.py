"""The tests' own engine that queues keeps the promises of engines: with the door open, and with it closed."""

import pytest
from tests.contracts.engine import EngineContract, QueueContract
from tests.engines import queueing
from tests.engines.queueing import QueueingEngine


class TestQueueingEngine(EngineContract):
    @pytest.fixture
    def abilities(self):
        return queueing.abilities(None)

    @pytest.fixture
    def make_engine(self):
        def make(home):
            queueing.let_all_in(home)
            return QueueingEngine(home)

        return make


class TestItsQueue(QueueContract):
    @pytest.fixture
    def make_engine(self):
        return QueueingEngine

    @pytest.fixture
    def let_in(self):
        return queueing.let_in
