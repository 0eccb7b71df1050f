"""Where Connect clusters come from: the records of their groups, and Connect's REST API."""
