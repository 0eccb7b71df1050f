"""Settings of sessions that depend on the machine."""

from pathlib import Path

import pytest

from rebalance_sim.engine.spark import session


@pytest.mark.parametrize(("limit", "expected"), [(str(9 * 2**30), "3072m"), (str(2**30), "1024m")])
def test_the_jvm_takes_a_third_of_the_containers_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: str, expected: str
) -> None:
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    monkeypatch.setattr(session, "LIMITS_OF_MEMORY", (tmp_path / "memory.max", tmp_path / "none"))
    assert session.driver_memory() == expected


def test_a_container_without_a_limit_has_the_memory_of_its_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usual = session.driver_memory()
    (tmp_path / "memory.max").write_text("max\n")
    monkeypatch.setattr(session, "LIMITS_OF_MEMORY", (tmp_path / "memory.max",))
    assert session.driver_memory() == usual
