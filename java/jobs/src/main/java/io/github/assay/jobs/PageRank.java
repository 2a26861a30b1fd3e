package io.github.assay.jobs;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * PageRank by power iteration, one job each: rank' = (1 - d) / n + d × the sum of rank / links over the pages linking here.
 *
 * <p>Brin and Page: The anatomy of a large-scale hypertextual web search engine (1998), with d = 0.85 and ranks that add
 * up to 1. The graph travels through the shuffle with the ranks, as in every MapReduce PageRank; that is its load.
 */
public final class PageRank extends Configured implements Tool {
    /** Sum of all ranks in units of 10^-15: 10^15 when none is lost. */
    static final String RANK_SUM = "PAGERANK_SUM_E15";
    static final String LINKS = "PAGERANK_LINKS";
    static final double DAMPING = 0.85;
    private static final double UNITS = 1e15;

    /** Sends each target its share, and the page its own links. */
    public static final class ShareMapper extends Mapper<LongWritable, Page, LongWritable, Page> {
        private final LongWritable target = new LongWritable();
        private final Page out = new Page();

        @Override
        protected void map(LongWritable id, Page page, Context context) throws IOException, InterruptedException {
            if (page.links().length == 0) {
                throw new IOException("page " + id + " has no links: its rank would be lost");
            }
            out.set(0, page.links());
            context.write(id, out);
            out.share(page.rank() / page.links().length);
            for (long link : page.links()) {
                target.set(link);
                context.write(target, out);
            }
        }
    }

    /** Adds up the shares that go from one map to one page. */
    public static final class SumCombiner extends Reducer<LongWritable, Page, LongWritable, Page> {
        private final Page sum = new Page();

        @Override
        protected void reduce(LongWritable id, Iterable<Page> parts, Context context)
                throws IOException, InterruptedException {
            sum.sum(parts);
            context.write(id, sum);
        }
    }

    /** Makes the page's new rank from all shares. */
    public static final class RankReducer extends Reducer<LongWritable, Page, LongWritable, Page> {
        private final Page sum = new Page();
        private double ranks;
        private long links;

        @Override
        protected void reduce(LongWritable id, Iterable<Page> parts, Context context)
                throws IOException, InterruptedException {
            int pages = context.getConfiguration().getInt(LinkGraph.PAGES, 0);
            sum.sum(parts);
            if (sum.links().length == 0) {
                throw new IOException("page " + id + " is linked to but is not in the graph");
            }
            sum.set((1 - DAMPING) / pages + DAMPING * sum.rank(), sum.links());
            ranks += sum.rank();
            links += sum.links().length;
            context.write(id, sum);
        }

        @Override
        protected void cleanup(Context context) {
            context.getCounter(Arguments.COUNTERS, RANK_SUM).increment(Math.round(ranks * UNITS));
            context.getCounter(Arguments.COUNTERS, LINKS).increment(links);
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (!Arguments.fit(arguments, "PageRank GRAPH OUTPUT PAGES ITERATIONS")) {
            return 2;
        }
        Path from = new Path(arguments[0]);
        Path output = new Path(arguments[1]);
        int iterations = Integer.parseInt(arguments[3]);
        for (int iteration = 1; iteration <= iterations; iteration++) {
            Path to = new Path(output, "iteration-" + iteration);
            Arguments.done(iteration(from, to, Integer.parseInt(arguments[2])));
            if (iteration > 1) {
                Arguments.delete(getConf(), from);
            }
            from = to;
        }
        return 0;
    }

    private Job iteration(Path from, Path to, int pages) throws IOException {
        Job job = Arguments.job(getConf(), PageRank.class);
        job.getConfiguration().setInt(LinkGraph.PAGES, pages);
        job.setInputFormatClass(SequenceFileInputFormat.class);
        FileInputFormat.setInputPaths(job, from);
        job.setMapperClass(ShareMapper.class);
        job.setCombinerClass(SumCombiner.class);
        job.setReducerClass(RankReducer.class);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setOutputKeyClass(LongWritable.class);
        job.setOutputValueClass(Page.class);
        FileOutputFormat.setOutputPath(job, to);
        return job;
    }

    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new Configuration(), new PageRank(), arguments));
    }
}
