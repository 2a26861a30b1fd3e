package io.github.assay.jobs;

import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The file system's clock as this task knows it: of HDFS the NameNode's, which is one clock for all tasks.
 *
 * <p>A folder is made, and the modification time that it got is the moment of its making by the server's clock. It lies
 * between question and answer by the local clock, so half of the way there and back bounds the error (Cristian:
 * Probabilistic clock synchronization, 1989). The quickest of several probes is taken. Between measurements the time is
 * carried by {@link System#nanoTime}, so a step of the wall clock does no harm.
 */
final class SharedClock {
    private static final int PROBES = 5;
    private static final double NANOS_PER_MS = 1e6;

    private final long atNanos;
    private final double atMs;
    private final double errorMs;

    private SharedClock(long atNanos, double atMs, double errorMs) {
        this.atNanos = atNanos;
        this.atMs = atMs;
        this.errorMs = errorMs;
    }

    /** Asks {@code files} for its time, by folders below {@code scratch}, which are left there. */
    static SharedClock measure(FileSystem files, Path scratch) throws IOException {
        files.mkdirs(scratch);
        SharedClock best = null;
        for (int probe = 0; probe < PROBES; probe++) {
            Path folder = new Path(scratch, Integer.toString(probe));
            long asked = System.nanoTime();
            if (!files.mkdirs(folder)) {
                throw new IOException("can't make " + folder);
            }
            long answered = System.nanoTime();
            double half = (answered - asked) / 2.0;
            double served = files.getFileStatus(folder).getModificationTime() + 0.5; // whole milliseconds, cut off
            if (best == null || half / NANOS_PER_MS + 0.5 < best.errorMs) {
                best = new SharedClock(asked + (long) half, served, half / NANOS_PER_MS + 0.5);
            }
        }
        return best;
    }

    /** Returns the shared time of a moment of {@link System#nanoTime}, in milliseconds since 1970. */
    double ms(long nanos) {
        return atMs + (nanos - atNanos) / NANOS_PER_MS;
    }

    /** Returns by how much the shared time may be wrong at most. */
    double errorMs() {
        return errorMs;
    }
}
