"""Code profiles: which code a run executed, and profiles that were recorded outside assay."""
