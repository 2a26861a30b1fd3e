"""Compose a report as a document, write it as HTML, PDF or Markdown, and pack it with its runs."""
