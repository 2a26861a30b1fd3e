package io.github.assay.jobs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * K-means by Lloyd's iterations (Least squares quantization in PCM, 1982), one job each.
 *
 * <p>A map gives each point to its nearest centroid, a combiner and a reduce add up, and the means are the next centroids.
 * The first centroids are the first points of the input. A centroid that gets no point stays where it is. Below OUTPUT lie
 * {@code centroids-0} to {@code centroids-ITERATIONS}: a line per cluster with the points that it got in that iteration,
 * their squared distances added up, and the coordinates.
 */
public final class KMeans extends Configured implements Tool {
    private static final String CENTROIDS = "assay.centroids";

    /** Gives each point to the nearest centroid; of two at one distance, to the first. */
    public static final class NearestMapper extends Mapper<LongWritable, Point, IntWritable, Cluster> {
        private final IntWritable nearest = new IntWritable();
        private final Cluster single = new Cluster();
        private double[][] centroids;

        @Override
        protected void setup(Context context) throws IOException {
            Path file = new Path(context.getConfiguration().get(CENTROIDS));
            centroids = read(file.getFileSystem(context.getConfiguration()), file).stream()
                    .map(KMeans::coordinates).toArray(double[][]::new);
        }

        @Override
        protected void map(LongWritable id, Point point, Context context) throws IOException, InterruptedException {
            double least = Double.POSITIVE_INFINITY;
            for (int index = 0; index < centroids.length; index++) {
                double distance = squaredDistance(point.coordinates(), centroids[index]);
                if (distance < least) {
                    least = distance;
                    nearest.set(index);
                }
            }
            single.set(1, least, point.coordinates());
            context.write(nearest, single);
        }
    }

    /** Adds up what one map gave to a cluster. */
    public static final class SumCombiner extends Reducer<IntWritable, Cluster, IntWritable, Cluster> {
        private final Cluster sum = new Cluster();

        @Override
        protected void reduce(IntWritable index, Iterable<Cluster> parts, Context context)
                throws IOException, InterruptedException {
            sum.sum(parts);
            context.write(index, sum);
        }
    }

    /** Writes a cluster's count, cost and mean. */
    public static final class MeanReducer extends Reducer<IntWritable, Cluster, IntWritable, Text> {
        private final Cluster sum = new Cluster();

        @Override
        protected void reduce(IntWritable index, Iterable<Cluster> parts, Context context)
                throws IOException, InterruptedException {
            sum.sum(parts);
            context.write(index, new Text(sum.describe()));
        }
    }

    static double squaredDistance(double[] first, double[] second) {
        double sum = 0;
        for (int dimension = 0; dimension < first.length; dimension++) {
            double apart = first[dimension] - second[dimension];
            sum += apart * apart;
        }
        return sum;
    }

    /** Returns the coordinates at the end of a cluster's line. */
    static double[] coordinates(String line) {
        String[] words = line.substring(line.lastIndexOf('\t') + 1).split(",");
        return Arrays.stream(words).mapToDouble(Double::parseDouble).toArray();
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (!Arguments.fit(arguments, "KMeans POINTS OUTPUT CLUSTERS ITERATIONS")) {
            return 2;
        }
        Path points = new Path(arguments[0]);
        Path output = new Path(arguments[1]);
        FileSystem files = output.getFileSystem(getConf());
        List<String> centroids = firstPoints(files, points, Integer.parseInt(arguments[2]));
        int iterations = Integer.parseInt(arguments[3]);
        for (int iteration = 0; iteration <= iterations; iteration++) {
            Path file = new Path(output, "centroids-" + iteration);
            write(files, file, centroids);
            if (iteration < iterations) {
                // A folder per iteration: the ApplicationMaster of the last one may still delete its own temporary folder.
                Path to = new Path(output, "_clusters-" + (iteration + 1));
                Arguments.done(iteration(points, file, to));
                centroids = replaced(files, to, centroids);
                files.delete(to, true);
            }
        }
        return 0;
    }

    private Job iteration(Path points, Path centroids, Path to) throws IOException {
        Job job = Arguments.job(getConf(), KMeans.class);
        job.getConfiguration().set(CENTROIDS, centroids.toString());
        job.setInputFormatClass(SequenceFileInputFormat.class);
        FileInputFormat.setInputPaths(job, points);
        job.setMapperClass(NearestMapper.class);
        job.setCombinerClass(SumCombiner.class);
        job.setReducerClass(MeanReducer.class);
        job.setMapOutputKeyClass(IntWritable.class);
        job.setMapOutputValueClass(Cluster.class);
        job.setOutputFormatClass(TextOutputFormat.class);
        job.setOutputKeyClass(IntWritable.class);
        job.setOutputValueClass(Text.class);
        FileOutputFormat.setOutputPath(job, to);
        return job;
    }

    private List<String> firstPoints(FileSystem files, Path folder, int count) throws IOException {
        List<String> lines = new ArrayList<>();
        FileStatus[] parts = files.listStatus(folder, path -> path.getName().startsWith("part-"));
        Arrays.sort(parts);
        for (FileStatus part : parts) {
            LongWritable id = new LongWritable();
            Point point = new Point();
            try (SequenceFile.Reader in = new SequenceFile.Reader(getConf(), SequenceFile.Reader.file(part.getPath()))) {
                while (lines.size() < count && in.next(id, point)) {
                    lines.add("0\t0.0\t" + Arrays.toString(point.coordinates()).replaceAll("[\\[\\] ]", ""));
                }
            }
        }
        if (lines.size() < count) {
            throw new IOException(count + " clusters need as many points; " + folder + " has " + lines.size());
        }
        return lines;
    }

    /**
     * Replaces the centroids by the reduces' output; a centroid that got no point is kept.
     *
     * @throws IOException if the output holds no centroid: each point is in a cluster, so that it was not read whole
     */
    private static List<String> replaced(FileSystem files, Path folder, List<String> before) throws IOException {
        List<String> centroids = new ArrayList<>();
        for (String line : before) {
            centroids.add("0\t0.0\t" + line.substring(line.lastIndexOf('\t') + 1));
        }
        int replacements = 0;
        for (FileStatus part : files.listStatus(folder, path -> path.getName().startsWith("part-"))) {
            for (String line : read(files, part.getPath())) {
                int tab = line.indexOf('\t');
                centroids.set(Integer.parseInt(line.substring(0, tab)), line.substring(tab + 1));
                replacements++;
            }
        }
        if (replacements == 0) {
            throw new IOException("no centroid in " + folder + ": " + Arrays.toString(files.listStatus(folder)));
        }
        return centroids;
    }

    private static List<String> read(FileSystem files, Path file) throws IOException {
        List<String> lines = new ArrayList<>();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(files.open(file), StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                lines.add(line);
            }
        }
        return lines;
    }

    private static void write(FileSystem files, Path file, List<String> lines) throws IOException {
        String text = lines.stream().map(line -> line + "\n").collect(Collectors.joining());
        // Not by a PrintStream, whose close() hides failures: HDFS gets all of so small a file in close().
        try (OutputStream out = files.create(file, true)) {
            out.write(text.getBytes(StandardCharsets.UTF_8));
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new Configuration(), new KMeans(), arguments));
    }
}
