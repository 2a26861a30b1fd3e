"""How much a disk is asked for at once, at a lab's scale: the largest request, and the readahead window.

Positioning takes a real disk's time at any scale, and transfers shrink with the bandwidth. So what is read per
positioning has to shrink too, or interleaved streams would keep more of the bandwidth than on the described disk. In:
the device and the scale. Out: bytes, a multiple of the page size.

A modelled HDD's largest request and its readahead window are :data:`HDD_REQUEST_BYTES` times the scale. By that, ten to
twenty readers all over the disk get half of what one gets, at every scale, as was published of real disks;
docs/explanation/lab.md has what was measured. Flash has no arm, and gets what Linux merges at most.
"""

from assay.model.clusters.cluster import Device, DeviceKind, Disks

PAGE_BYTES = 4096
FULL_REQUEST_BYTES = 1280 * 1024
"""The largest request that Linux makes of a disk by default."""
HDD_REQUEST_BYTES = 640 * 1024
"""Of a modelled HDD at full scale: 5 ms of transfer at 120 MB/s. Linux asks real disks for 0.5 to 1.25 MB at once."""
REQUEST_BYTES_MIN = {Disks.MODEL: 1 * PAGE_BYTES, Disks.THROTTLE: 4 * PAGE_BYTES}
SEQUENTIAL_IOPS_MARGIN = 1.25


def request_bytes(device: Device, scale: float, disks: Disks) -> int:
    """Return the largest request of ``device`` at ``scale``, in bytes.

    Under throttling the IOPS limit counts sequential requests too, so they are large enough to leave the bandwidth
    alone.
    """
    modelled_arm = device.kind is DeviceKind.HDD and disks is Disks.MODEL
    wanted = (HDD_REQUEST_BYTES if modelled_arm else FULL_REQUEST_BYTES) * scale
    if disks is Disks.THROTTLE:
        rates = ((device.read_bytes_per_s, device.read_iops), (device.write_bytes_per_s, device.write_iops))
        wanted = max(wanted, *(rate * scale / iops * SEQUENTIAL_IOPS_MARGIN if iops else 0.0 for rate, iops in rates))
    pages = max(round(wanted / PAGE_BYTES), REQUEST_BYTES_MIN[disks] // PAGE_BYTES)
    return min(pages * PAGE_BYTES, FULL_REQUEST_BYTES)
