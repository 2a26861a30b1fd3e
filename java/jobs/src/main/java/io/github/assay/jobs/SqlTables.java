package io.github.assay.jobs;

import java.io.IOException;
import java.time.LocalDate;
import org.apache.commons.math3.distribution.ZipfDistribution;
import org.apache.commons.math3.random.JDKRandomGenerator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * Generates the tables Rankings (pageURL, pageRank, avgDuration) and UserVisits ({@link Visit}) as text with commas.
 *
 * <p>The tables and queries are those of Pavlo et al.: A comparison of approaches to large-scale data analysis (2009),
 * which HiBench took over. There is a visitor's address for every ten visits; which page is visited follows Zipf's law
 * with exponent 1; dates are spread evenly over twenty years. The expected results of the
 * queries are counted here.
 */
public final class SqlTables extends Configured implements Tool {
    static final String VISITS = "VISITS";
    static final String REVENUE = "VISITS_REVENUE_CENTS";
    static final String SELECTED = "SELECTED_VISITS";
    static final String SELECTED_REVENUE = "SELECTED_REVENUE_CENTS";
    private static final String PAGES = "assay.pages";
    private static final String ADDRESSES = "assay.addresses";
    private static final int VISITS_PER_ADDRESS = 10;
    private static final int DAYS = 20 * 365;
    private static final int REVENUE_CENTS_MAX = 100_000;
    private static final String[] AGENTS = {
        "Mozilla/5.0 (X11; Linux x86_64)", "Mozilla/5.0 (Windows NT 10.0)", "Mozilla/5.0 (Macintosh)", "curl/8.0",
    };
    private static final String[] LANDS = {"CHE,de-CH", "ESP,es-ES", "FRA,fr-FR", "GBR,en-GB", "ITA,it-IT", "USA,en-US"};
    private static final String[] WORDS = {"cluster", "disk", "flash", "network", "price", "rack", "replica", "shuffle"};

    /** Makes the ranking of page number {@code row}. */
    public static final class RankingMapper extends Mapper<LongWritable, NullWritable, NullWritable, Text> {
        private final Text line = new Text();

        @Override
        protected void map(LongWritable row, NullWritable nothing, Context context)
                throws IOException, InterruptedException {
            JDKRandomGenerator random = Seeded.random(~Arguments.seed(context.getConfiguration()), row.get());
            line.set(url(row.get()) + "," + random.nextInt(10_000) + "," + (1 + random.nextInt(100)));
            context.write(NullWritable.get(), line);
        }
    }

    /** Makes visit number {@code row}. */
    public static final class VisitMapper extends Mapper<LongWritable, NullWritable, NullWritable, Text> {
        private final JDKRandomGenerator random = new JDKRandomGenerator();
        private final Text line = new Text();
        private ZipfDistribution pages;
        private long seed;
        private int addresses;

        @Override
        protected void setup(Context context) {
            Configuration settings = context.getConfiguration();
            seed = Arguments.seed(settings);
            addresses = settings.getInt(ADDRESSES, 1);
            pages = new ZipfDistribution(random, settings.getInt(PAGES, 1), 1);
        }

        @Override
        protected void map(LongWritable row, NullWritable nothing, Context context)
                throws IOException, InterruptedException {
            Seeded.reseed(random, seed, row.get());
            String text = String.join(",",
                    address(random.nextInt(addresses)),
                    url(pages.sample() - 1L),
                    LocalDate.of(1990, 1, 1).plusDays(random.nextInt(DAYS)).toString(),
                    Visit.money(1 + random.nextInt(REVENUE_CENTS_MAX)),
                    AGENTS[random.nextInt(AGENTS.length)],
                    LANDS[random.nextInt(LANDS.length)],
                    WORDS[random.nextInt(WORDS.length)],
                    Integer.toString(1 + random.nextInt(10)));
            count(Visit.parse(text), context);
            line.set(text);
            context.write(NullWritable.get(), line);
        }

        private static void count(Visit visit, Context context) {
            context.getCounter(Arguments.COUNTERS, VISITS).increment(1);
            context.getCounter(Arguments.COUNTERS, REVENUE).increment(visit.revenueCents);
            if (visit.isSelected()) {
                context.getCounter(Arguments.COUNTERS, SELECTED).increment(1);
                context.getCounter(Arguments.COUNTERS, SELECTED_REVENUE).increment(visit.revenueCents);
            }
        }
    }

    /** Returns a page's address; the number makes it unique, and the word before it spreads pages over the alphabet. */
    static String url(long page) {
        return "http://" + Long.toString(Seeded.mix(page) >>> 1, 36) + ".example/" + page;
    }

    private static String address(int number) {
        int mixed = (int) Seeded.mix(number);
        return (mixed >>> 24) + "." + (mixed >>> 16 & 255) + "." + (mixed >>> 8 & 255) + "." + (mixed & 255);
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (!Arguments.fit(arguments, "SqlTables PAGES VISITS OUTPUT")) {
            return 2;
        }
        int pages = Integer.parseInt(arguments[0]);
        long visits = Long.parseLong(arguments[1]);
        Path output = new Path(arguments[2]);
        getConf().setInt(PAGES, pages);
        getConf().setInt(ADDRESSES, (int) Math.min(Integer.MAX_VALUE, Math.max(1, visits / VISITS_PER_ADDRESS)));
        Arguments.done(table(RankingMapper.class, pages, new Path(output, "rankings")));
        Arguments.done(table(VisitMapper.class, visits, new Path(output, "uservisits")));
        return 0;
    }

    private Job table(Class<? extends Mapper<LongWritable, NullWritable, NullWritable, Text>> maker, long rows, Path to)
            throws IOException {
        Job job = Arguments.job(getConf(), SqlTables.class);
        RowInputFormat.use(job, rows);
        job.setMapperClass(maker);
        job.setNumReduceTasks(0);
        job.setOutputFormatClass(TextOutputFormat.class);
        job.setOutputKeyClass(NullWritable.class);
        job.setOutputValueClass(Text.class);
        FileOutputFormat.setOutputPath(job, to);
        return job;
    }

    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new Configuration(), new SqlTables(), arguments));
    }
}
