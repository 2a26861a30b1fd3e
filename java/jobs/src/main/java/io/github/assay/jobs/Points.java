package io.github.assay.jobs;

import java.io.IOException;
import java.util.Random;
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
 * Generates the points that {@link KMeans} clusters: normally distributed around centres that are spread evenly.
 *
 * <p>Which centre a point belongs to is random; centres are in a cube of side 1000, and points deviate by 50 in each of
 * the 20 dimensions, which is the number that HiBench has too.
 */
public final class Points extends Configured implements Tool {
    static final int DIMENSIONS = 20;
    private static final String CENTRES = "assay.centres";
    private static final double SIDE = 1000;
    private static final double DEVIATION = 50;

    /** Makes point number {@code row}. */
    public static final class PointMapper extends Mapper<LongWritable, NullWritable, LongWritable, Point> {
        private final Point point = new Point();

        @Override
        protected void map(LongWritable row, NullWritable nothing, Context context)
                throws IOException, InterruptedException {
            Configuration settings = context.getConfiguration();
            point.set(coordinates(Arguments.seed(settings), settings.getInt(CENTRES, 1), row.get()));
            context.write(row, point);
        }
    }

    /** Returns point number {@code row} of the set that {@code seed} and the number of centres name. */
    static double[] coordinates(long seed, int centres, long row) {
        Random random = Seeded.random(seed, row);
        Random centre = Seeded.random(~seed, random.nextInt(centres));
        double[] coordinates = new double[DIMENSIONS];
        for (int dimension = 0; dimension < DIMENSIONS; dimension++) {
            coordinates[dimension] = centre.nextDouble() * SIDE + random.nextGaussian() * DEVIATION;
        }
        return coordinates;
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (!Arguments.fit(arguments, "Points POINTS CENTRES OUTPUT")) {
            return 2;
        }
        Job job = Arguments.job(getConf(), Points.class);
        job.getConfiguration().setInt(CENTRES, Integer.parseInt(arguments[1]));
        RowInputFormat.use(job, Long.parseLong(arguments[0]));
        job.setMapperClass(PointMapper.class);
        job.setNumReduceTasks(0);
        job.setOutputFormatClass(SequenceFileOutputFormat.class);
        job.setOutputKeyClass(LongWritable.class);
        job.setOutputValueClass(Point.class);
        FileOutputFormat.setOutputPath(job, new Path(arguments[2]));
        Arguments.done(job);
        return 0;
    }

    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new Configuration(), new Points(), arguments));
    }
}
