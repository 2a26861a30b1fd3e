package io.github.assay.spark;

import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.Partitioner;

/**
 * Ranges of keys of about equal size, found as Hadoop's TeraSort does: from the first rows at ten places of the input, a
 * hundred thousand in all, read by the program itself before its job.
 */
final class KeyRanges extends Partitioner {
    private static final long serialVersionUID = 1L;
    private static final int POSITIONS = 10;
    private static final int SAMPLES = 100_000;

    /** The first key of each range but the first, in order. */
    private final byte[][] bounds;

    private KeyRanges(byte[][] bounds) {
        this.bounds = bounds;
    }

    static KeyRanges of(Configuration settings, Path input, int ranges) throws IOException {
        List<byte[]> keys = sample(input.getFileSystem(settings), input);
        keys.sort(Arrays::compareUnsigned);
        byte[][] bounds = new byte[ranges - 1][];
        for (int range = 1; range < ranges; range++) {
            bounds[range - 1] = keys.get((int) ((long) range * keys.size() / ranges));
        }
        return new KeyRanges(bounds);
    }

    private static List<byte[]> sample(FileSystem files, Path input) throws IOException {
        List<byte[]> keys = new ArrayList<>();
        List<FileStatus> parts = new ArrayList<>();
        for (FileStatus part : files.listStatus(input, path -> !path.getName().startsWith("_"))) {
            if (part.getLen() >= RowInput.ROW_BYTES) {
                parts.add(part);
            }
        }
        if (parts.isEmpty()) {
            throw new IOException("no rows below " + input);
        }
        byte[] row = new byte[RowInput.ROW_BYTES];
        for (int position = 0; position < POSITIONS; position++) {
            FileStatus part = parts.get(position % parts.size());
            long rows = part.getLen() / RowInput.ROW_BYTES;
            int visits = Math.max(1, POSITIONS / parts.size());
            long first = rows * (position / parts.size()) / (visits + 1);
            try (FSDataInputStream in = files.open(part.getPath())) {
                in.seek(first * RowInput.ROW_BYTES);
                for (long at = first; at < Math.min(rows, first + SAMPLES / POSITIONS); at++) {
                    in.readFully(row);
                    keys.add(Arrays.copyOf(row, RowInput.KEY_BYTES));
                }
            }
        }
        return keys;
    }

    @Override
    public int numPartitions() {
        return bounds.length + 1;
    }

    @Override
    public int getPartition(Object key) {
        int index = Arrays.binarySearch(bounds, (byte[]) key, Arrays::compareUnsigned);
        return index >= 0 ? index + 1 : -index - 1;
    }

    /** Compares keys byte by byte, without signs. */
    static final class Order implements Comparator<byte[]>, Serializable {
        private static final long serialVersionUID = 1L;

        @Override
        public int compare(byte[] first, byte[] second) {
            return Arrays.compareUnsigned(first, second);
        }
    }
}
