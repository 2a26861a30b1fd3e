"""Values as the text that people read: the same in terminal, page and report."""
