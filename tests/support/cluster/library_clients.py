"""The consumers of every client library on a broker."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.cluster.broker import Broker
from tests.support.cluster.clients import JavaConsumers, KafkaPythonConsumers, OtherConsumers, RdkafkaConsumers, Runner
from tests.support.cluster.library_groups import OF_GO, OF_JAVASCRIPT
from tests.support.library_programs import go_program, node_program


@contextmanager
def library_clients(broker: Broker, directory: Path) -> Iterator[dict[str, Runner]]:
    """Run the consumers of each library; raises Unavailable where Go or Node.js is missing."""
    servers = broker.bootstrap_servers
    go, node = go_program("consumers", directory), node_program("consumers", directory / "node")
    with ExitStack() as stack:
        of_go = stack.enter_context(OtherConsumers(go, servers, directory / "go.log"))
        of_javascript = stack.enter_context(OtherConsumers(node, servers, directory / "node.log"))
        yield {
            "java": stack.enter_context(JavaConsumers(broker.version, servers, directory / "java.log")),
            "librdkafka": stack.enter_context(RdkafkaConsumers(servers)),
            "kafka-python": stack.enter_context(KafkaPythonConsumers(servers)),
            **dict.fromkeys(OF_GO, of_go),
            **dict.fromkeys(OF_JAVASCRIPT, of_javascript),
        }
