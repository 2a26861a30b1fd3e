"""Import recordings of hosts: collectl, iostat, sysstat."""
