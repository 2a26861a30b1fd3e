"""Parse foreign formats. Each format has one parser, which takes text or bytes and returns values."""
