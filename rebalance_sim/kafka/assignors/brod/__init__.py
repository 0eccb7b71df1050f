"""The assignment strategies of brod."""
