"""The consumers of aiokafka, each with an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.cluster.clients import Polling, PythonConsumers
from tests.support.cluster.fleet import RANGE, ROBIN


class _AiokafkaPolling(Polling):
    def run(self) -> None:
        asyncio.run(self._consume())

    async def _consume(self) -> None:
        from aiokafka import AIOKafkaConsumer  # noqa: PLC0415 - a library that only these tests need

        consumer = AIOKafkaConsumer(**self._settings())
        await consumer.start()
        try:
            while not self.ending.is_set():
                self.renew_subscription(consumer.subscribe)
                await consumer.getmany(timeout_ms=200, max_records=20)
                partitions = {(each.topic, each.partition) for each in consumer.assignment()}
                self.assigned = (consumer._coordinator.member_id, partitions)
        finally:
            await consumer.stop()

    def _settings(self) -> dict[str, Any]:
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415
        from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor  # noqa: PLC0415

        assignors = {RANGE: RangePartitionAssignor, ROBIN: RoundRobinPartitionAssignor}
        named = {"client_id": self.client.client_id} if self.client.client_id else {}
        return named | {
            "bootstrap_servers": self.bootstrap_servers,
            "group_id": self.client.group,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "partition_assignment_strategy": [assignors[protocol] for protocol in self.client.protocols],
        }


class AiokafkaConsumers(PythonConsumers):
    """aiokafka's consumers."""

    polling = _AiokafkaPolling
