package io.github.assay.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import io.github.assay.jobs.Page;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.util.LongAccumulator;
import scala.Tuple2;

/**
 * PageRank by power iteration over the graph that Hadoop's job takes, with the same damping and the same result:
 * {@code PageRank GRAPH OUTPUT PAGES ITERATIONS PARTITIONS}. As Spark's own example does it, the links are partitioned once
 * and kept, on disks where memory is short, and only shares of rank are shuffled.
 */
public final class PageRank {
    private static final double DAMPING = 0.85;
    private static final double UNITS = 1e15;

    private PageRank() {
    }

    public static void main(String[] arguments) {
        long pages = Long.parseLong(arguments[2]);
        int iterations = Integer.parseInt(arguments[3]);
        HashPartitioner parts = new HashPartitioner(Integer.parseInt(arguments[4]));
        try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("PageRank"))) {
            JavaPairRDD<Long, long[]> links = context.newAPIHadoopFile(
                            arguments[0], Graph.class, LongWritable.class, Page.class, context.hadoopConfiguration())
                    .mapToPair(page -> new Tuple2<>(page._1.get(), page._2.links().clone()))
                    .partitionBy(parts)
                    .persist(StorageLevel.MEMORY_AND_DISK_SER());
            JavaPairRDD<Long, Double> ranks = links.mapValues(targets -> 1.0 / pages);
            for (int iteration = 0; iteration < iterations; iteration++) {
                // Each page sends itself nothing, so that a page without incoming links stays in the result.
                ranks = links.join(ranks, parts)
                        .flatMapToPair(page -> {
                            long[] targets = page._2._1;
                            List<Tuple2<Long, Double>> shares = new ArrayList<>(targets.length + 1);
                            shares.add(new Tuple2<>(page._1, 0.0));
                            for (long target : targets) {
                                shares.add(new Tuple2<>(target, page._2._2 / targets.length));
                            }
                            return shares.iterator();
                        })
                        .reduceByKey(parts, Double::sum)
                        .mapValues(sum -> (1 - DAMPING) / pages + DAMPING * sum);
            }
            LongAccumulator written = context.sc().longAccumulator("pages");
            LongAccumulator linked = context.sc().longAccumulator("links");
            org.apache.spark.util.DoubleAccumulator sum = context.sc().doubleAccumulator("ranks");
            links.join(ranks, parts)
                    .mapToPair(page -> {
                        written.add(1L);
                        linked.add((long) page._2._1.length);
                        sum.add(page._2._2);
                        Page whole = new Page();
                        whole.set(page._2._2, page._2._1);
                        return new Tuple2<>(new LongWritable(page._1), whole);
                    })
                    .saveAsNewAPIHadoopFile(
                            arguments[1], LongWritable.class, Page.class, SequenceFileOutputFormat.class,
                            context.hadoopConfiguration());
            Counts.tell("REDUCE_OUTPUT_RECORDS", written.value());
            Counts.tell("PAGERANK_LINKS", linked.value());
            Counts.tell("PAGERANK_SUM_E15", Math.round(sum.value() * UNITS));
        }
    }

    /** The graph's sequence files. */
    public static final class Graph extends SequenceFileInputFormat<LongWritable, Page> {
    }
}
