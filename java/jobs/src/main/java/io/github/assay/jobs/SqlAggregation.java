package io.github.assay.jobs;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.apache.hadoop.mapreduce.lib.reduce.LongSumReducer;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/** {@code SELECT sourceIP, SUM(adRevenue) FROM UserVisits GROUP BY sourceIP}, with partial sums in the maps. */
public final class SqlAggregation extends Configured implements Tool {
    static final String REVENUE = "GROUPED_REVENUE_CENTS";

    /** Picks the two columns. */
    public static final class ColumnsMapper extends Mapper<LongWritable, Text, Text, LongWritable> {
        private final Text sourceIp = new Text();
        private final LongWritable cents = new LongWritable();

        @Override
        protected void map(LongWritable offset, Text row, Context context) throws IOException, InterruptedException {
            Visit visit = Visit.parse(row.toString());
            sourceIp.set(visit.sourceIp);
            cents.set(visit.revenueCents);
            context.write(sourceIp, cents);
        }
    }

    /** Writes a group's sum. */
    public static final class GroupReducer extends Reducer<Text, LongWritable, Text, Text> {
        @Override
        protected void reduce(Text sourceIp, Iterable<LongWritable> parts, Context context)
                throws IOException, InterruptedException {
            long sum = 0;
            for (LongWritable part : parts) {
                sum += part.get();
            }
            context.getCounter(Arguments.COUNTERS, REVENUE).increment(sum);
            context.write(sourceIp, new Text(Visit.money(sum)));
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (!Arguments.fit(arguments, "SqlAggregation TABLES OUTPUT")) {
            return 2;
        }
        Job job = Arguments.job(getConf(), SqlAggregation.class);
        job.setInputFormatClass(TextInputFormat.class);
        FileInputFormat.setInputPaths(job, new Path(arguments[0], "uservisits"));
        job.setMapperClass(ColumnsMapper.class);
        job.setCombinerClass(Sums.class);
        job.setReducerClass(GroupReducer.class);
        job.setMapOutputKeyClass(Text.class);
        job.setMapOutputValueClass(LongWritable.class);
        job.setOutputFormatClass(TextOutputFormat.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(Text.class);
        FileOutputFormat.setOutputPath(job, new Path(arguments[1]));
        Arguments.done(job);
        return 0;
    }

    /** Adds up what one map has of a group. */
    public static final class Sums extends LongSumReducer<Text> {
    }

    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new Configuration(), new SqlAggregation(), arguments));
    }
}
