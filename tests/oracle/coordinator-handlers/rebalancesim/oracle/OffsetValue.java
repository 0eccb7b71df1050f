package rebalancesim.oracle;

/** The fields of an offset commit. */
record OffsetValue(long offset, int leaderEpoch, String metadata, long commitTimestamp, long expireTimestamp) {
}
