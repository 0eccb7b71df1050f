"""The leaders of simulated groups, and coordinators that assign themselves (KIP-848): they run the elected assignor."""

from collections.abc import Sequence

from rebalance_sim.kafka.assignors.custom_batch import ClientData, FailureTexts, LeaderView
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.kafka.simulation.batch_state import field
from rebalance_sim.kafka.simulation.fleet import SimulatedFleet
from rebalance_sim.kafka.simulation.prepared import PreparedGroups


class Leaders:
    """Assigns the partitions of groups during a simulation."""

    def __init__(self, prepared: Sequence[PreparedGroups], protocols: Sequence[str], fleet: SimulatedFleet) -> None:
        """Take the same groups under each condition of the fleet, and the names of the fleet's protocols."""
        self.failures = FailureTexts()
        """The messages that the numbers in ``BatchResult.assignor_failures`` stand for."""
        self._prepared, self._groups = prepared, prepared[0].groups
        self._assignors = [prepared[0].conditions.assignors.resolve(name) for name in protocols]
        self._view = LeaderView(
            self._groups.topic_variants[0],
            self._topic_names,
            self._client_data,
            # Not a copy: a consumer may be restarted with other assignors.
            field(fleet.of_consumers, "eager"),
            self.failures,
        )

    def assign(self, protocol: int, joined: Groups, consumers: Ints32) -> AssignmentOutcome:
        """Assign the partitions of groups that elected a protocol; their members are these consumers."""
        return self._assignors[protocol].assign(joined, consumers, self._view)

    def _topic_names(self) -> list[str]:
        names = self._groups.read_topic_names()
        return [names[topic] for topic in self._groups.topic_variants[1].tolist()]

    def _client_data(self, consumers: Ints32) -> ClientData:
        of_conditions, numbers = (column.tolist() for column in divmod(consumers, len(self._groups.racks)))
        instance_ids = [of.instance_ids.to_list() for of in self._prepared]
        return ClientData(
            [self._groups.user_data[number] for number in numbers],
            [self._groups.rack_names[number] for number in numbers],
            [instance_ids[of][number] for of, number in zip(of_conditions, numbers, strict=True)],
        )
