"""Files of ``conf`` by name, which a wheel contains, and the user's own by path."""

from pathlib import Path

import pytest

from rebalance_sim.errors import UserError
from rebalance_sim.sources.yaml_files import CONF, find_yaml, shipped_names

IN_REPOSITORY = Path(__file__).parents[2] / "conf"


def test_the_package_has_the_files_of_conf() -> None:
    assert CONF.samefile(IN_REPOSITORY)
    assert shipped_names("fleets") == sorted(path.stem for path in (IN_REPOSITORY / "fleets").iterdir())
    assert shipped_names("scenarios") == sorted(path.stem for path in (IN_REPOSITORY / "scenarios").iterdir())


def test_a_name_is_a_file_of_conf_and_anything_with_a_slash_or_a_dot_is_a_path() -> None:
    assert find_yaml("--synthetic", "default", "fleets").samefile(IN_REPOSITORY / "fleets" / "default.yaml")
    assert find_yaml("--synthetic", "./default", "fleets") == Path("default")
    assert find_yaml("--synthetic", "default.yaml", "fleets") == Path("default.yaml")


def test_an_unknown_name_is_reported_with_the_names_that_exist() -> None:
    with pytest.raises(UserError, match=r"^--synthetic: 'defalt' .*'default'.*benchmark-assignment"):
        find_yaml("--synthetic", "defalt", "fleets")
