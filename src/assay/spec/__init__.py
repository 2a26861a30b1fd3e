"""YAML to model: errors name file, line and the valid choices; JSON Schemas are made from the same models."""
