package io.github.assay.jobs;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

/** Input without data: hands out the row numbers from 0, split evenly over {@code mapreduce.job.maps} maps. */
public final class RowInputFormat extends InputFormat<LongWritable, NullWritable> {
    private static final String ROWS = "assay.rows";

    /** Makes {@code job} map over the numbers from 0 to {@code rows} - 1. */
    static void use(Job job, long rows) {
        if (rows < 1) {
            throw new IllegalArgumentException("there must be at least one row, not " + rows);
        }
        job.setInputFormatClass(RowInputFormat.class);
        job.getConfiguration().setLong(ROWS, rows);
    }

    @Override
    public List<InputSplit> getSplits(JobContext context) {
        long rows = context.getConfiguration().getLong(ROWS, 0);
        long maps = Math.min(rows, Math.max(1, context.getConfiguration().getInt(MRJobConfig.NUM_MAPS, 1)));
        List<InputSplit> splits = new ArrayList<>();
        for (long map = 0; map < maps; map++) {
            splits.add(new Rows(share(rows, map, maps), share(rows, map + 1, maps)));
        }
        return splits;
    }

    /** Returns where part {@code part} of {@code parts} even parts of {@code whole} begins, without overflow. */
    static long share(long whole, long part, long parts) {
        return whole / parts * part + whole % parts * part / parts;
    }

    @Override
    public RecordReader<LongWritable, NullWritable> createRecordReader(InputSplit split, TaskAttemptContext context) {
        return new RowReader();
    }

    /** The rows from {@code first} up to but without {@code end}. */
    public static final class Rows extends InputSplit implements Writable {
        private long first;
        private long end;

        /** For Hadoop, which fills the split by {@link #readFields}. */
        public Rows() {
        }

        Rows(long first, long end) {
            this.first = first;
            this.end = end;
        }

        @Override
        public long getLength() {
            return end - first;
        }

        @Override
        public String[] getLocations() {
            return new String[0];
        }

        @Override
        public void write(DataOutput out) throws IOException {
            out.writeLong(first);
            out.writeLong(end);
        }

        @Override
        public void readFields(DataInput in) throws IOException {
            first = in.readLong();
            end = in.readLong();
        }
    }

    private static final class RowReader extends RecordReader<LongWritable, NullWritable> {
        private final LongWritable row = new LongWritable();
        private Rows rows = new Rows();
        private long next;

        @Override
        public void initialize(InputSplit split, TaskAttemptContext context) {
            rows = (Rows) split;
            next = rows.first;
        }

        @Override
        public boolean nextKeyValue() {
            row.set(next);
            return next++ < rows.end;
        }

        @Override
        public LongWritable getCurrentKey() {
            return row;
        }

        @Override
        public NullWritable getCurrentValue() {
            return NullWritable.get();
        }

        @Override
        public float getProgress() {
            return Math.min(1f, (float) (next - rows.first) / Math.max(1, rows.getLength()));
        }

        @Override
        public void close() {
        }
    }
}
