"""Elections beyond the golden ones: batches, and the partition of a group in ``__consumer_offsets``."""

import pytest
from hypothesis import given

from rebalance_sim.kafka.election import offsets_partition
from tests.support.arrays import hashes
from tests.support.batches import elect_all
from tests.support.examples import examples
from tests.support.java import name_with_hash
from tests.support.model import VERSIONS, Joiner
from tests.support.strategies import elections

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


@pytest.mark.parametrize("version", VERSIONS)
@examples(150)
@given(elections())
def test_groups_of_a_batch_vote_as_if_alone(version: str, batch: list[tuple[Joiner, ...]]) -> None:
    assert elect_all(version, batch) == [elect_all(version, [joiners])[0] for joiners in batch]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_batch_elects_nothing(version: str) -> None:
    assert elect_all(version, []) == []


@pytest.mark.parametrize(
    ("hash_code", "partition"),
    [(0, 0), (1, 1), (2**31 - 1, 47), (2**31, 0), (2**31 + 1, 47), (2**32 - 51, 1), (2**32 - 1, 1)],
)
def test_the_coordinators_partition(hash_code: int, partition: int) -> None:
    """``Utils.abs`` makes 0 of the one int that has no positive counterpart."""
    assert offsets_partition(hashes([name_with_hash(hash_code, 0)]), 50).tolist() == [partition]
