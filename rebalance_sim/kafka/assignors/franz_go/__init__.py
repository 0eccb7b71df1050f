"""The assignors of franz-go."""
