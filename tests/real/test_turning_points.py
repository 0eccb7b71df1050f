"""A setting pays on one side of its predicted turning point only, on a broker with Java's consumers."""

import pytest
from pyspark.sql import SparkSession

from tests.support.cluster.measured_downtime import ABOVE, BELOW, CASES, PARTITIONS, PAYS, measure, threshold_ms

pytestmark = [pytest.mark.cluster, pytest.mark.alone]


def test_settings_pay_on_one_side_of_their_turning_points(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    thresholds = {case: threshold_ms(spark, case) for case in CASES}
    downtime = measure(tmp_path_factory.mktemp("measured"), thresholds)
    paid = {}
    for case, at_ms in thresholds.items():
        for side in (BELOW, ABOVE):
            usual, changed = downtime[case, side, False], downtime[case, side, True]
            print(f"{case.latency} {side * at_ms:,.0f} ms (threshold {at_ms:,}): {usual / PARTITIONS:,.0f} ms per "
                  f"partition, with {case.setting}={case.value} {changed / PARTITIONS:,.0f}")  # fmt: skip
            paid[case.latency, side] = bool(PAYS.by(usual - changed, usual, PARTITIONS))
    assert paid == {
        ("revoke_ms", BELOW): False,
        ("revoke_ms", ABOVE): True,
        ("start_ms", BELOW): True,
        ("start_ms", ABOVE): False,
    }
