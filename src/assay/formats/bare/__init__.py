"""What tools print that measure bare devices and links: fio, iperf3."""
