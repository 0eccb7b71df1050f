"""Jobs whose options need no Spark: a module per job, which imports none."""
