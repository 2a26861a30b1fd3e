"""Recordings of what hosts did: collectl, iostat, sysstat."""
