"""Files of JSON: which are read, and why others are not."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from rebalance_sim.errors import UserError
from rebalance_sim.sources.kafka_tools.capture import read_capture
from rebalance_sim.sources.kafka_tools.contents import BadLine
from rebalance_sim.sources.kafka_tools.json_documents import is_json, read_json
from tests.sources.kafka_tools.test_akhq import GROUP
from tests.sources.kafka_tools.test_kcat import METADATA
from tests.sources.kafka_tools.test_rpk import described, read

SUPPORTED = (
    "the JSON is not the output of a supported tool; "
    "supported are rpk group describe --format json, kcat -L -J, and AKHQ's /api/CLUSTER/group/GROUP"
)


@pytest.mark.parametrize(
    "document",
    [
        # kafkactl, Kafka UI and the REST proxy: members without member ids, or without client ids.
        {"Group": {"Name": "orders"}, "State": "Stable", "Members": [{"clientHost": "/10.0.0.7", "clientId": "web"}]},
        {"groupId": "orders", "members": 1, "state": "STABLE", "partitions": []},
        {"kind": "KafkaConsumerGroup", "consumer_group_id": "orders"},
    ],
)
def test_documents_of_other_tools_are_rejected(document: object) -> None:
    pasted = read(json.dumps(document, indent=1))
    assert [(row["table"], row["reason"]) for row in pasted.rejects] == [("capture", SUPPORTED)]
    assert json.loads(pasted.rejects[0]["row"])["line"] == 1


def test_a_capture_of_nothing_else_names_the_reason(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "groups.json").write_text('{"Group": {"Name": "orders"}}')
    why = f"contains no members of groups (1 line could not be used, the first in groups.json line 1: {SUPPORTED})"
    with pytest.raises(UserError, match=re.escape(why)):
        read_capture(spark, str(tmp_path))


def test_documents_are_found_by_their_lines() -> None:
    text = f"$ curl http://akhq/api/prod/group/orders\n\n{json.dumps(GROUP, indent=2)}\n{METADATA}\n{{}}"
    lines = list(read_json(text))
    end = text.count("\n") + 1
    assert [line.number for line in lines if isinstance(line.content, BadLine)] == [end]
    assert {line.number for line in lines} == {3, end - 1, end}


def test_a_cut_file_is_rejected_where_it_ends() -> None:
    first = json.dumps([described()])
    *read_lines, last = read_json(f"{first}\n{first[:100]}")
    assert (last.number, last.text) == (2, first[:100])
    assert isinstance(last.content, BadLine)
    assert last.content.reason.startswith("not JSON from here on: ")
    assert len(read_lines) > 3


@pytest.mark.parametrize(
    "text",
    [
        "[2026-11-27 10:00:00,000] WARN x\n",
        "orders:0:1\n[\n{",
        '[pod/kafka-0/kafka] {"a": 1}',
        'GROUP  TOPIC\n{"topics": []}',
    ],
)
def test_text_is_not_json(text: str) -> None:
    assert not is_json(text)


@settings(deadline=None, max_examples=200)
@given(st.sampled_from([METADATA, json.dumps(GROUP), json.dumps([described()])]), st.data())
def test_damaged_documents_are_rejected(text: str, data: st.DataObject) -> None:
    """A value of a document is another one, or a piece is missing: nothing fails."""
    start = data.draw(st.integers(0, len(text)))
    piece = data.draw(st.sampled_from(["", "7", "null", '"', "[]", "{}", "-", "9" * 30, "1e5", "true"]))
    read(text[:start] + piece + text[start + data.draw(st.integers(0, 12)) :])


def test_very_deep_documents_are_rejected() -> None:
    pasted = read('{"a":' + "[" * 100_000)
    assert [row["table"] for row in pasted.rejects] == ["capture"]
