"""The assignors of @platformatic/kafka."""
