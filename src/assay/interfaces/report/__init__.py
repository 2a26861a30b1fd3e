"""The report as a document: composed once, written as HTML, PDF or Markdown, and packed with its runs."""
