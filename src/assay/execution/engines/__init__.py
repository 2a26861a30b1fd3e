"""Provide the engines that run jobs on hosts."""
