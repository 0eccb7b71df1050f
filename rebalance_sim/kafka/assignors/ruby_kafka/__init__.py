"""The assignment strategies of ruby-kafka."""
