"""What every store promises of tokens (`roost.store.base.People`), as tests."""

import pytest
from tests.contracts.store import StoreContract, at_once

from roost.domain.errors import Conflict
from roost.domain.people import Token, TokenKind
from roost.store.base import Store


class PeopleContract(StoreContract):
    def test_tokens(self, store: Store) -> None:
        person = Token(digest="a" * 64, user="ann", run_id="", created_at=1.0, expires_at=None)
        runs = Token(digest="b" * 64, user="ann", run_id="r1", created_at=1.0, expires_at=None)
        for token in (person, runs, runs):
            store.people.add_token(token)
        assert store.people.find_token(person.digest) == person
        assert store.people.find_token("c" * 64) is None
        with pytest.raises(Conflict):
            store.people.add_token(Token(digest="a" * 64, user="eve", run_id="", created_at=1.0, expires_at=None))
        store.people.expire_run_tokens("r1", 50.0)
        store.people.expire_run_tokens("", 50.0)
        expiries = [found.expires_at for token in (runs, person) if (found := store.people.find_token(token.digest))]
        assert expiries == [50.0, None]

    def test_a_token_is_taken_once(self, store: Store) -> None:
        code = Token(digest="d" * 64, user="ann", run_id="", created_at=1.0, expires_at=60.0, kind=TokenKind.CODE)
        store.people.add_token(code)
        taken = at_once(lambda _: store.people.take_token(code.digest), 4)
        assert [found for found in taken if found] == [code]
        assert store.people.find_token(code.digest) is None

    def test_expired_tokens_of_a_kind_are_forgotten(self, store: Store) -> None:
        kinds = [TokenKind.CODE, TokenKind.SESSION, TokenKind.KEY]
        tokens = [
            Token(digest=f"{number}", user="ann", run_id="", created_at=1.0, expires_at=expires, kind=kind)
            for number, (kind, expires) in enumerate((kind, at) for kind in kinds for at in (10.0, 30.0, None))
        ]
        for token in tokens:
            store.people.add_token(token)
        store.people.forget_expired([TokenKind.CODE, TokenKind.SESSION], 20.0)
        left = [token for token in tokens if store.people.find_token(token.digest) == token]
        assert left == [each for each in tokens if each.kind is TokenKind.KEY or each.expires_at != 10.0]
