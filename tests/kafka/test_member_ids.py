"""The name in a member id."""

import pytest

from rebalance_sim.kafka.member_ids import named_after

UUID = "626467ba-04a1-4547-b401-ba8570c1dca1"


@pytest.mark.parametrize("name", ["", "kgo", "aiokafka-0.12.0", "app@host (x/kafka-go)", "a\nb", UUID])
def test_coordinators_put_a_uuid_after_the_name(name: str) -> None:
    assert named_after(f"{name}-{UUID}") == name


@pytest.mark.parametrize("member_id", ["", UUID, "8XYk0V8BRZCMtoYgMwwEoA", f"kgo-{UUID}-1", f"kgo-{UUID.upper()}"])
def test_other_ids_have_no_name(member_id: str) -> None:
    assert named_after(member_id) is None
