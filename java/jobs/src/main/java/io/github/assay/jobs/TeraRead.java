package io.github.assay.jobs;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.examples.terasort.TeraInputFormat;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Counter;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.output.NullOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * Reads TeraGen's rows and does nothing else: no order is checked, nothing is shuffled or written.
 *
 * <p>Kambatla and Chen, The Truth About MapReduce Performance on SSDs (LISA'14), table 2: "HDFS read-only job, like
 * Teravalidate, except no sort order validation and no reduce tasks."
 */
public final class TeraRead extends Configured implements Tool {
    static final String ROW_BYTES = "TERAREAD_BYTES";

    /** Counts the bytes of the rows. */
    public static final class ReadMapper extends Mapper<Text, Text, NullWritable, NullWritable> {
        private Counter bytes;

        @Override
        protected void setup(Context context) {
            bytes = context.getCounter(Arguments.COUNTERS, ROW_BYTES);
        }

        @Override
        protected void map(Text key, Text value, Context context) {
            bytes.increment(key.getLength() + (long) value.getLength());
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (!Arguments.fit(arguments, "TeraRead INPUT")) {
            return 2;
        }
        Arguments.done(job(getConf(), new Path(arguments[0])));
        return 0;
    }

    static Job job(Configuration settings, Path input) throws IOException {
        Job job = Arguments.job(settings, TeraRead.class);
        TeraInputFormat.setInputPaths(job, input);
        job.setInputFormatClass(TeraInputFormat.class);
        job.setMapperClass(ReadMapper.class);
        job.setNumReduceTasks(0);
        job.setOutputFormatClass(NullOutputFormat.class);
        return job;
    }

    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new Configuration(), new TeraRead(), arguments));
    }
}
