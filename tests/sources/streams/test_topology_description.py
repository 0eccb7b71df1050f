"""The text of ``Topology.describe()``, as the classes of Kafka Streams 2.6.3 and 4.3.1 alike print it."""

from pathlib import Path

from rebalance_sim.sources.streams.topology_description import subtopologies

DESCRIPTION = (Path(__file__).parent / "topology.txt").read_text()


def test_subtopologies_have_topics_patterns_and_stores() -> None:
    """The global store has no tasks. The repartition topic and the changelog begin with the application's id."""
    stateless = {"stateful": False, "changelogs": []}
    assert list(subtopologies("app", DESCRIPTION)) == [
        {"subtopology": "1", "topics": ["orders", "returns"], "topic_patterns": []} | stateless,
        {
            "subtopology": "2",
            "topics": ["app-totals-repartition"],
            "topic_patterns": [],
            "stateful": True,
            "changelogs": ["app-totals-changelog"],
        },
        {"subtopology": "3", "topics": [], "topic_patterns": ["audit-.*, [x]"]} | stateless,
    ]


def test_a_topic_of_another_application_keeps_its_name() -> None:
    """It is read, but not written here."""
    (part,) = subtopologies("app", "Sub-topology: 0\nSource: s (topics: [other-repartition])\n")
    assert part["topics"] == ["other-repartition"]


def test_other_text_has_no_subtopology() -> None:
    assert list(subtopologies("app", "Error: no topology\n")) == []
