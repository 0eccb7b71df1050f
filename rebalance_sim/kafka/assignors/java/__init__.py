"""``range`` and ``roundrobin`` of the Java client."""
