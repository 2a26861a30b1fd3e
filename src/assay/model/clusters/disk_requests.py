"""Size of disk requests at a lab's scale: the largest request, and the readahead window.

A lab multiplies the bandwidth of a disk by its scale, and keeps the time of a seek. The bytes per request must shrink
by the scale too, so that a transfer takes as long as on the described disk. Otherwise, interleaved streams would get a
larger share of the bandwidth than on the described disk. In: device and scale. Out: bytes, a multiple of the page size.

For a modelled HDD, both are :data:`HDD_REQUEST_BYTES` times the scale. Ten to twenty concurrent readers then get half
of one reader's throughput at every scale, as published for real disks; docs/explanation/lab.md has measurements. Flash
has no arm and gets the largest request that Linux merges.
"""

from assay.model.clusters.cluster import Device, DeviceKind, Disks

PAGE_BYTES = 4096
FULL_REQUEST_BYTES = 1280 * 1024
"""Linux's default for the largest request to a disk, in bytes."""
HDD_REQUEST_BYTES = 640 * 1024
"""Largest request of a modelled HDD at full scale, in bytes: 5 ms of transfer at 120 MB/s. Linux sends requests of 0.5
to 1.25 MB to real disks."""
REQUEST_BYTES_MIN = {Disks.MODEL: 1 * PAGE_BYTES, Disks.THROTTLE: 4 * PAGE_BYTES}
"""Way of emulating disks to the minimum of the largest request, in bytes."""
SEQUENTIAL_IOPS_MARGIN = 1.25
"""Size of a throttled request, as a multiple of the size at which the IOPS limit equals the bandwidth."""


def request_bytes(device: Device, scale: float, disks: Disks) -> int:
    """Return the largest request of ``device`` at ``scale``, in bytes.

    Under throttling the IOPS limit also counts sequential requests, so the request is large enough not to limit the
    bandwidth.
    """
    has_modelled_arm = device.kind is DeviceKind.HDD and disks is Disks.MODEL
    size_bytes = (HDD_REQUEST_BYTES if has_modelled_arm else FULL_REQUEST_BYTES) * scale
    if disks is Disks.THROTTLE:
        rates = ((device.read_bytes_per_s, device.read_iops), (device.write_bytes_per_s, device.write_iops))
        size_bytes = max(
            size_bytes, *(rate * scale / iops * SEQUENTIAL_IOPS_MARGIN if iops else 0.0 for rate, iops in rates)
        )
    pages = max(round(size_bytes / PAGE_BYTES), REQUEST_BYTES_MIN[disks] // PAGE_BYTES)
    return min(pages * PAGE_BYTES, FULL_REQUEST_BYTES)
