"""The leaders of simulated groups, and coordinators that assign themselves (KIP-848): they run the elected assignor."""

from rebalance_sim.kafka.assignors.custom_batch import ClientData, FailureTexts, LeaderView
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.kafka.simulation.batch_state import field
from rebalance_sim.kafka.simulation.fleet import SimulatedFleet
from rebalance_sim.kafka.simulation.prepared import PreparedGroups


class Leaders:
    """Assigns the partitions of groups during a simulation."""

    def __init__(self, prepared: PreparedGroups, fleet: SimulatedFleet) -> None:
        self.failures = FailureTexts()
        """The messages that the numbers in ``BatchResult.assignor_failures`` stand for."""
        self._prepared = prepared
        self._view = LeaderView(
            prepared.groups.topic_variants[0],
            self._topic_names,
            self._client_data,
            # Not a copy: a consumer may be restarted with other assignors.
            field(fleet.of_consumers, "eager"),
            self.failures,
        )

    def assign(self, protocol: int, joined: Groups, consumers: Ints32) -> AssignmentOutcome:
        """Assign the partitions of groups that elected a protocol; their members are these consumers."""
        return self._prepared.assignors[protocol].assign(joined, consumers, self._view)

    def _topic_names(self) -> list[str]:
        names = self._prepared.groups.read_topic_names()
        return [names[topic] for topic in self._prepared.groups.topic_variants[1].tolist()]

    def _client_data(self, consumers: Ints32) -> ClientData:
        groups, numbers = self._prepared.groups, consumers.tolist()
        columns = (groups.user_data, groups.rack_names, self._prepared.instance_ids.to_list())
        return ClientData(*([column[number] for number in numbers] for column in columns))
