import json

import pytest

from roost.agent import link
from roost.domain.errors import DiskFull, NotFound, Unauthorized
from roost.domain.plans import Access


class TestLocate:
    def test_the_address_that_is_written_down_wins(self, tmp_path):
        file = tmp_path / "server.json"
        access = Access(url="http://127.0.0.1:1", token="t", endpoint_file=str(file))
        assert link.locate(access).url == "http://127.0.0.1:1"
        file.write_text(json.dumps({"url": "http://127.0.0.1:2"}))
        assert link.locate(access).url == "http://127.0.0.1:2"
        file.write_text("{half")
        assert link.locate(access).url == "http://127.0.0.1:1"

    def test_without_a_file_the_plan_s_address_is_used(self):
        assert link.locate(Access(url="http://far:1", token="t")).token == "t"


class TestPersist:
    def test_it_goes_on_through_what_passes_by_itself(self, monkeypatch, caplog):
        monkeypatch.setattr(link, "_PAUSE", 0.0)
        answers = [DiskFull("No room."), DiskFull("No room."), Unauthorized("Who?"), "done"]

        def deed():
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        assert link.persist(deed) == "done"
        assert [record.getMessage() for record in caplog.records] == ["Trying again: No room.", "Trying again: Who?"]

    def test_the_time_that_it_was_held_up_is_known(self, monkeypatch):
        monkeypatch.setattr(link, "_PAUSE", 0.05)
        before, answers = link.held_up(), [DiskFull("No room."), DiskFull("No room.")]

        def deed():
            if answers:
                raise answers.pop()

        link.persist(deed)
        assert link.held_up() - before >= 0.1

    def test_a_token_that_stays_unknown_is_given_up(self, monkeypatch):
        monkeypatch.setattr(link, "_PAUSE", 0.0)
        monkeypatch.setattr(link, "GIVE_UP_SECONDS", 0.0)

        def deed():
            raise Unauthorized("Who?")

        with pytest.raises(Unauthorized):
            link.persist(deed)

    def test_other_refusals_are_the_caller_s(self):
        def deed():
            raise NotFound("Gone.")

        with pytest.raises(NotFound):
            link.persist(deed)
