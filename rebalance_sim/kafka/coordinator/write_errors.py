"""The errors that members get when a write to the offsets topic fails."""

from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.releases import CoordinatorRules


@inner_kernel
def response_error(error: int, rules: int) -> int:
    """Return the error that members get for an error of the log.

    ``GroupMetadataManager.storeGroup`` of the Scala coordinator. The Java coordinator uses one mapping for every
    write, of classic and of consumer-protocol groups (``CoordinatorOperationExceptionHelper``).
    """
    if error in (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.NOT_ENOUGH_REPLICAS):
        return Errors.COORDINATOR_NOT_AVAILABLE
    if error == Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND and rules < CoordinatorRules.JAVA:
        return Errors.COORDINATOR_NOT_AVAILABLE
    if error in (Errors.NOT_LEADER_OR_FOLLOWER, Errors.KAFKA_STORAGE_ERROR):
        return Errors.NOT_COORDINATOR
    if error == Errors.REQUEST_TIMED_OUT:
        return Errors.COORDINATOR_NOT_AVAILABLE if rules >= CoordinatorRules.JAVA else Errors.REBALANCE_IN_PROGRESS
    if error in (Errors.MESSAGE_TOO_LARGE, Errors.RECORD_LIST_TOO_LARGE, Errors.INVALID_FETCH_SIZE):
        return Errors.UNKNOWN_SERVER_ERROR
    return error


@inner_kernel
def commit_response_error(error: int, rules: int) -> int:
    """Return the error that an OffsetCommit gets for an error of the log.

    ``GroupMetadataManager.storeOffsets`` of the Scala coordinator differs from ``storeGroup`` in two errors.
    """
    if rules < CoordinatorRules.JAVA:
        if error == Errors.REQUEST_TIMED_OUT:
            return error
        if error in (Errors.MESSAGE_TOO_LARGE, Errors.RECORD_LIST_TOO_LARGE, Errors.INVALID_FETCH_SIZE):
            return Errors.INVALID_COMMIT_OFFSET_SIZE
    return response_error(error, rules)
