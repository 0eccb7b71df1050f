"""Pictures and the HTML page of finished runs."""
