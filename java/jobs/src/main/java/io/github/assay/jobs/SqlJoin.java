package io.github.assay.jobs;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Partitioner;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.MultipleInputs;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * {@code SELECT sourceIP, AVG(pageRank), SUM(adRevenue) FROM Rankings JOIN UserVisits ON pageURL = destURL WHERE visitDate
 * BETWEEN 1999-01-01 AND 2000-01-01 GROUP BY sourceIP}: a join in the reduces, then a second job that groups.
 *
 * <p>Keys of the join are the page's address with a mark behind it, so that the ranking comes before the visits of its
 * page and no visit is held in memory.
 */
public final class SqlJoin extends Configured implements Tool {
    static final String VISITS = "JOINED_VISITS";
    static final String REVENUE = "JOINED_REVENUE_CENTS";
    private static final String RANKING_MARK = "\t0";
    private static final String VISIT_MARK = "\t1";
    private static final int MARK_BYTES = 2;

    /** Sends a page's rank under its address. */
    public static final class RankingMapper extends Mapper<LongWritable, Text, Text, Text> {
        @Override
        protected void map(LongWritable offset, Text row, Context context) throws IOException, InterruptedException {
            String[] columns = row.toString().split(",", 3);
            context.write(new Text(columns[0] + RANKING_MARK), new Text(columns[1]));
        }
    }

    /** Sends a selected visit's visitor and revenue under the page's address. */
    public static final class VisitMapper extends Mapper<LongWritable, Text, Text, Text> {
        @Override
        protected void map(LongWritable offset, Text row, Context context) throws IOException, InterruptedException {
            Visit visit = Visit.parse(row.toString());
            if (visit.isSelected()) {
                context.write(new Text(visit.destUrl + VISIT_MARK), new Text(visit.sourceIp + "," + visit.revenueCents));
            }
        }
    }

    /** Sends both kinds of a page's records to one reduce. */
    public static final class PagePartitioner extends Partitioner<Text, Text> {
        @Override
        public int getPartition(Text key, Text value, int partitions) {
            int hash = WritableComparator.hashBytes(key.getBytes(), key.getLength() - MARK_BYTES);
            return (hash & Integer.MAX_VALUE) % partitions;
        }
    }

    /** Makes one group of both kinds of a page's records. */
    public static final class PageComparator extends Text.Comparator {
        @Override
        public int compare(
                byte[] first, int firstStart, int firstLength, byte[] second, int secondStart, int secondLength) {
            return super.compare(
                    first, firstStart, firstLength - MARK_BYTES, second, secondStart, secondLength - MARK_BYTES);
        }
    }

    /** Puts the page's rank to each of its visits. */
    public static final class JoinReducer extends Reducer<Text, Text, Text, Joined> {
        private final Text sourceIp = new Text();
        private final Joined joined = new Joined();

        @Override
        protected void reduce(Text key, Iterable<Text> values, Context context)
                throws IOException, InterruptedException {
            long rank = -1;
            for (Text value : values) { // the key changes with the value
                if (key.toString().endsWith(RANKING_MARK)) {
                    rank = Long.parseLong(value.toString());
                } else if (rank >= 0) {
                    String[] visit = value.toString().split(",");
                    sourceIp.set(visit[0]);
                    joined.set(1, rank, Long.parseLong(visit[1]));
                    context.write(sourceIp, joined);
                }
            }
        }
    }

    /** Adds up what one map has of a group. */
    public static final class SumCombiner extends Reducer<Text, Joined, Text, Joined> {
        private final Joined sum = new Joined();

        @Override
        protected void reduce(Text sourceIp, Iterable<Joined> parts, Context context)
                throws IOException, InterruptedException {
            sum.sum(parts);
            context.write(sourceIp, sum);
        }
    }

    /** Writes a visitor's average rank and total revenue. */
    public static final class GroupReducer extends Reducer<Text, Joined, Text, Text> {
        private final Joined sum = new Joined();

        @Override
        protected void reduce(Text sourceIp, Iterable<Joined> parts, Context context)
                throws IOException, InterruptedException {
            sum.sum(parts);
            context.getCounter(Arguments.COUNTERS, VISITS).increment(sum.visits());
            context.getCounter(Arguments.COUNTERS, REVENUE).increment(sum.revenueCents());
            context.write(sourceIp, new Text(sum.meanRank() + "\t" + Visit.money(sum.revenueCents())));
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (!Arguments.fit(arguments, "SqlJoin TABLES OUTPUT")) {
            return 2;
        }
        Path tables = new Path(arguments[0]);
        Path output = new Path(arguments[1]);
        Path joined = new Path(output, "joined");
        Arguments.done(join(tables, joined));
        Arguments.done(group(joined, new Path(output, "groups")));
        Arguments.delete(getConf(), joined);
        return 0;
    }

    private Job join(Path tables, Path to) throws IOException {
        Job job = Arguments.job(getConf(), SqlJoin.class);
        MultipleInputs.addInputPath(job, new Path(tables, "rankings"), TextInputFormat.class, RankingMapper.class);
        MultipleInputs.addInputPath(job, new Path(tables, "uservisits"), TextInputFormat.class, VisitMapper.class);
        job.setPartitionerClass(PagePartitioner.class);
        job.setGroupingComparatorClass(PageComparator.class);
        job.setReducerClass(JoinReducer.class);
        job.setMapOutputKeyClass(Text.class);
        job.setMapOutputValueClass(Text.class);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(Joined.class);
        FileOutputFormat.setOutputPath(job, to);
        return job;
    }

    private Job group(Path from, Path to) throws IOException {
        Job job = Arguments.job(getConf(), SqlJoin.class);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        FileInputFormat.setInputPaths(job, from);
        job.setCombinerClass(SumCombiner.class);
        job.setReducerClass(GroupReducer.class);
        job.setMapOutputKeyClass(Text.class);
        job.setMapOutputValueClass(Joined.class);
        job.setOutputFormatClass(TextOutputFormat.class);
        job.setOutputKeyClass(Text.class);
        job.setOutputValueClass(Text.class);
        FileOutputFormat.setOutputPath(job, to);
        return job;
    }

    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new Configuration(), new SqlJoin(), arguments));
    }
}
