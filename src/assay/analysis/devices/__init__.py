"""Models of disks: calibration, expected rates, number of directories by bandwidth. Pure."""
