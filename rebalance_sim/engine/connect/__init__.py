"""Kafka Connect's clusters in Spark: simulated cluster by cluster, each by one worker."""
