package io.github.assay.spark;

import java.io.IOException;
import java.io.OutputStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import io.github.assay.jobs.Point;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/**
 * Lloyd's iterations over the points that Hadoop's job takes, from the same first centroids, so with the same result but
 * for the order of additions: {@code KMeans POINTS OUTPUT CLUSTERS ITERATIONS PARTITIONS}. Points are kept between
 * iterations, on disks where memory is short.
 */
public final class KMeans {
    private KMeans() {
    }

    public static void main(String[] arguments) throws IOException {
        int clusters = Integer.parseInt(arguments[2]);
        int iterations = Integer.parseInt(arguments[3]);
        int partitions = Integer.parseInt(arguments[4]);
        Path output = new Path(arguments[1]);
        try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("KMeans"))) {
            FileSystem files = output.getFileSystem(context.hadoopConfiguration());
            JavaPairRDD<Long, double[]> points = context.newAPIHadoopFile(
                            arguments[0], InputOfPoints.class, LongWritable.class, Point.class,
                            context.hadoopConfiguration())
                    .mapToPair(point -> new Tuple2<>(point._1.get(), point._2.coordinates().clone()))
                    .persist(StorageLevel.MEMORY_AND_DISK_SER());
            List<Tuple2<Long, double[]>> first = points.take(clusters);
            if (first.size() < clusters) {
                throw new IOException(clusters + " clusters need as many points; there are " + first.size());
            }
            double[][] centroids = first.stream().map(point -> point._2).toArray(double[][]::new);
            long read = 0;
            for (int iteration = 1; iteration <= iterations; iteration++) {
                Broadcast<double[][]> known = context.broadcast(centroids);
                Map<Integer, Sum> sums = points
                        .mapToPair(point -> nearest(known.value(), point._2))
                        .reduceByKey(Sum::plus, partitions)
                        .collectAsMap();
                StringBuilder text = new StringBuilder();
                read = 0;
                for (int cluster = 0; cluster < clusters; cluster++) {
                    Sum sum = sums.get(cluster);
                    read += sum == null ? 0 : sum.count;
                    centroids[cluster] = sum == null ? centroids[cluster] : sum.mean();
                    text.append(sum == null ? 0 : sum.count).append('\t').append(sum == null ? 0.0 : sum.cost)
                            .append('\t').append(Arrays.stream(centroids[cluster]).mapToObj(Double::toString)
                            .collect(Collectors.joining(","))).append('\n');
                }
                try (OutputStream out = files.create(new Path(output, "centroids-" + iteration), true)) {
                    out.write(text.toString().getBytes(StandardCharsets.UTF_8));
                }
            }
            Counts.tell("MAP_INPUT_RECORDS", read);
        }
    }

    private static Tuple2<Integer, Sum> nearest(double[][] centroids, double[] point) {
        int chosen = 0;
        double least = Double.POSITIVE_INFINITY;
        for (int cluster = 0; cluster < centroids.length; cluster++) {
            double apart = 0;
            for (int dimension = 0; dimension < point.length; dimension++) {
                double difference = centroids[cluster][dimension] - point[dimension];
                apart += difference * difference;
            }
            if (apart < least) {
                least = apart;
                chosen = cluster;
            }
        }
        return new Tuple2<>(chosen, new Sum(1, least, point));
    }

    /** Points of one cluster: how many, their squared distances, and their coordinates, all added up. */
    private static final class Sum implements Serializable {
        private static final long serialVersionUID = 1L;
        private final long count;
        private final double cost;
        private final double[] sums;

        Sum(long count, double cost, double[] sums) {
            this.count = count;
            this.cost = cost;
            this.sums = sums;
        }

        Sum plus(Sum other) {
            double[] all = sums.clone();
            for (int dimension = 0; dimension < all.length; dimension++) {
                all[dimension] += other.sums[dimension];
            }
            return new Sum(count + other.count, cost + other.cost, all);
        }

        double[] mean() {
            return Arrays.stream(sums).map(sum -> sum / count).toArray();
        }
    }

    /** The points' sequence files. */
    public static final class InputOfPoints extends SequenceFileInputFormat<LongWritable, Point> {
    }
}
