package io.github.assay.jobs;

import java.io.IOException;
import org.apache.commons.math3.distribution.ZipfDistribution;
import org.apache.commons.math3.random.JDKRandomGenerator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * Generates the link graph that {@link PageRank} ranks: few pages with most of the incoming links, as in the web.
 *
 * <p>Both a page's number of links (1 to 100) and their targets follow Zipf's law with exponent 1; page 0 is the most
 * popular one. Every page has a link, so no rank is lost in dead ends. A page may link to another twice, or to itself.
 */
public final class LinkGraph extends Configured implements Tool {
    static final String LINKS = "GRAPH_LINKS";
    static final String PAGES = "assay.pages";
    private static final int LINKS_MAX = 100;
    private static final double EXPONENT = 1;

    /** Makes page number {@code row}. */
    public static final class PageMapper extends Mapper<LongWritable, NullWritable, LongWritable, Page> {
        private final JDKRandomGenerator random = new JDKRandomGenerator();
        private final Page page = new Page();
        private ZipfDistribution degrees;
        private ZipfDistribution targets;
        private long seed;
        private int pages;
        private long links;

        @Override
        protected void setup(Context context) {
            seed = Arguments.seed(context.getConfiguration());
            pages = context.getConfiguration().getInt(PAGES, 0);
            degrees = new ZipfDistribution(random, LINKS_MAX, EXPONENT);
            targets = new ZipfDistribution(random, pages, EXPONENT);
        }

        @Override
        protected void map(LongWritable row, NullWritable nothing, Context context)
                throws IOException, InterruptedException {
            Seeded.reseed(random, seed, row.get());
            long[] to = new long[degrees.sample()];
            for (int index = 0; index < to.length; index++) {
                to[index] = targets.sample() - 1L;
            }
            links += to.length;
            page.set(1.0 / pages, to);
            context.write(row, page);
        }

        @Override
        protected void cleanup(Context context) {
            context.getCounter(Arguments.COUNTERS, LINKS).increment(links);
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (!Arguments.fit(arguments, "LinkGraph PAGES OUTPUT")) {
            return 2;
        }
        int pages = Integer.parseInt(arguments[0]); // 2^31 pages are some 400 GB
        Job job = Arguments.job(getConf(), LinkGraph.class);
        job.getConfiguration().setInt(PAGES, pages);
        RowInputFormat.use(job, pages);
        job.setMapperClass(PageMapper.class);
        job.setNumReduceTasks(0);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setOutputKeyClass(LongWritable.class);
        job.setOutputValueClass(Page.class);
        FileOutputFormat.setOutputPath(job, new Path(arguments[1]));
        Arguments.done(job);
        return 0;
    }

    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new Configuration(), new LinkGraph(), arguments));
    }
}
