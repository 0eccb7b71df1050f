"""A user's own assignors, named on the command line as MODULE:CLASS."""

from importlib import import_module
from types import ModuleType

from rebalance_sim.commands.job_options import ALL
from rebalance_sim.commands.options import items
from rebalance_sim.defaults import STRATEGY
from rebalance_sim.engine.groups.comparison import BEST
from rebalance_sim.engine.groups.custom_assignors import check_travels
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.custom import by_name, check_assignor
from rebalance_sim.releases import KafkaVersion

WHERE_MODULES_ARE = "its folder must be on PYTHONPATH, or its file among --py-files"


def load_assignors(registered: str, strategy: str, version: KafkaVersion) -> dict[str, ConsumerPartitionAssignor]:
    """Return instances of the assignors that --assignors and --strategy name, by their MODULE:CLASS.

    Raises UserError if one cannot be imported, instantiated or used, and for two assignors of one name.
    """
    named = [("--assignors", item) for item in items(registered) if registered]
    named += [("--strategy", item) for item in items(strategy) if ":" in item]
    made = {item: _load(f"{option}: {item}", item) for option, item in named}
    for option, item in named:
        check_assignor(f"{option}: {item}", made[item], version, [STRATEGY, ALL, BEST])
    by_name("--assignors", made.values())
    return made


def _load(what: str, item: str) -> ConsumerPartitionAssignor:
    module_name, _, class_name = item.partition(":")
    if not module_name or not class_name:
        raise UserError(f"{what}: expected MODULE:CLASS")
    module = _import(what, module_name)
    assignor_class = getattr(module, class_name, None)
    if not isinstance(assignor_class, type) or not issubclass(assignor_class, ConsumerPartitionAssignor):
        available = ", ".join(_assignor_classes(module)) or "none"
        raise UserError(
            f"{what}: {module_name} has no class {class_name} derived from ConsumerPartitionAssignor; "
            f"it has: {available}"
        )
    try:
        assignor = assignor_class()
    except (Exception, SystemExit) as problem:
        raise UserError(f"{what}: {class_name}() raised {_described(problem)}") from problem
    check_travels(what, assignor)
    return assignor


def _import(what: str, module_name: str) -> ModuleType:
    try:
        return import_module(module_name)
    except ModuleNotFoundError as problem:
        raise UserError(f"{what}: no module named {problem.name!r}; {WHERE_MODULES_ARE}") from problem
    except (Exception, SystemExit) as problem:
        raise UserError(f"{what}: importing {module_name} raised {_described(problem)}") from problem


def _assignor_classes(module: ModuleType) -> list[str]:
    found = {name: value for name, value in vars(module).items() if isinstance(value, type)}
    return sorted(
        name
        for name, value in found.items()
        if issubclass(value, ConsumerPartitionAssignor) and value is not ConsumerPartitionAssignor
    )


def _described(problem: BaseException) -> str:
    return " ".join(f"{type(problem).__name__}: {problem}".split())
