package io.github.assay.spark;

import java.io.EOFException;
import java.io.IOException;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;

/** TeraGen's rows: 100 bytes each, the first ten of which are the key. A row belongs to the split that it begins in. */
public final class RowInput extends FileInputFormat<NullWritable, BytesWritable> {
    static final int KEY_BYTES = 10;
    static final int ROW_BYTES = 100;

    @Override
    public RecordReader<NullWritable, BytesWritable> createRecordReader(InputSplit split, TaskAttemptContext context) {
        return new Reader();
    }

    private static final class Reader extends RecordReader<NullWritable, BytesWritable> {
        private final byte[] row = new byte[ROW_BYTES];
        private final BytesWritable value = new BytesWritable(row);
        private FSDataInputStream in;
        private long position;
        private long start;
        private long end;

        @Override
        public void initialize(InputSplit given, TaskAttemptContext context) throws IOException {
            FileSplit split = (FileSplit) given;
            Path path = split.getPath();
            start = (split.getStart() + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
            end = split.getStart() + split.getLength();
            position = start;
            in = path.getFileSystem(context.getConfiguration()).open(path);
            in.seek(start);
        }

        @Override
        public boolean nextKeyValue() throws IOException {
            if (position >= end) {
                return false;
            }
            int read = in.readNBytes(row, 0, ROW_BYTES);
            if (read < ROW_BYTES) {
                throw new EOFException("a row of " + read + " bytes at " + position);
            }
            position += ROW_BYTES;
            return true;
        }

        @Override
        public NullWritable getCurrentKey() {
            return NullWritable.get();
        }

        @Override
        public BytesWritable getCurrentValue() {
            return value;
        }

        @Override
        public float getProgress() {
            return Math.min(1f, (float) (position - start) / Math.max(1, end - start));
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }
}
