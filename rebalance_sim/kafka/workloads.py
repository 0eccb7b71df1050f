"""The program that a member is a part of, from names that Kubernetes gives to pods and people give to replicas."""

import re

_OF_SAFE_LETTERS = "[bcdfghjklmnpqrstvwxz2456789]"
"""Letters of generated names (``k8s.io/apimachinery/pkg/util/rand``)."""
_REPLICAS = (
    # A Deployment's pod: the hash of the ReplicaSet and five random letters.
    re.compile(rf"(.+?)-{_OF_SAFE_LETTERS}{{6,10}}-{_OF_SAFE_LETTERS}{{5}}"),
    # The ordinal of a StatefulSet's pod, or that of a thread or an instance.
    re.compile(r"(.+?)[-_.]\d+"),
)
_HOST_OF_KAFKA_GO = re.compile(r".+@(.+) \(github\.com/segmentio/kafka-go\)")


def workload(client_id: str | None, instance_id: str | None) -> str | None:
    """Return what a member's replicas have in common; None if its names do not show that it is a replica.

    >>> workload("billing-6d4f9c7b8d-x2x4z", None), workload("app", "billing-12"), workload("billing", None)
    ('billing', 'billing', None)
    >>> workload("loader@search-7d9f5c6b4-2kq8z (github.com/segmentio/kafka-go)", None)
    'search'
    """
    for name in filter(None, (instance_id, client_id)):
        of_kafka_go = _HOST_OF_KAFKA_GO.fullmatch(name)
        replica = of_kafka_go[1] if of_kafka_go else name
        found = next((match[1] for each in _REPLICAS if (match := each.fullmatch(replica))), None)
        if found:
            return found
    return None
