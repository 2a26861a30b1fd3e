"""Import results of tools that measure devices and links: fio, iperf3."""
