"""Store campaigns: each campaign's folder with its journal, plan and status."""
