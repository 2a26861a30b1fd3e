package io.github.assay.jobs;

import java.util.Arrays;

/**
 * Bytes per second of a clock. What one call moved is spread evenly over the time that the call took, so that a slow call
 * is not credited to the second in which it ended; no byte is lost or counted twice.
 */
final class Slots {
    private static final double SLOT_MS = 1000;

    private long[] bytes = new long[16];
    private long first = -1;
    private int count;

    /** Adds {@code moved} bytes that went from {@code startMs} to {@code endMs}; calls come in the order of time. */
    void add(double startMs, double endMs, long moved) {
        long slot = (long) Math.floor(startMs / SLOT_MS);
        long last = (long) Math.floor(endMs / SLOT_MS);
        long before = 0;
        for (; slot < last; slot++) {
            long until = Math.round(moved * (((slot + 1) * SLOT_MS - startMs) / (endMs - startMs)));
            put(slot, until - before);
            before = until;
        }
        put(last, moved - before);
    }

    private void put(long slot, long moved) {
        if (first < 0) {
            first = slot;
        }
        int index = Math.toIntExact(slot - first);
        if (index >= bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(index + 1, bytes.length * 2));
        }
        count = Math.max(count, index + 1);
        bytes[index] += moved;
    }

    /** Returns the number of the first slot: whole seconds since 1970; -1 when nothing was added. */
    long first() {
        return first;
    }

    /** Returns the bytes of each slot from the first to the last. */
    long[] bytes() {
        return Arrays.copyOf(bytes, count);
    }

    long total() {
        return Arrays.stream(bytes, 0, count).sum();
    }
}
