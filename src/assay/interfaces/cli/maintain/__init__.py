"""Hold the commands that maintain labs, engines and the server."""
