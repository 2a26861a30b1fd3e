"""Write a report as HTML, PDF or Markdown."""
