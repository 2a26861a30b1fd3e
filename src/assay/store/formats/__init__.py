"""Parse foreign formats. Each has one parser, which takes text or bytes and returns values."""
