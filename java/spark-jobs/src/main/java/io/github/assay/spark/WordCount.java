package io.github.assay.spark;

import java.util.Arrays;
import java.util.StringTokenizer;
import java.util.Collections;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.util.LongAccumulator;
import scala.Tuple2;

/** Counts words, split as Hadoop's example splits them: {@code WordCount INPUT OUTPUT PARTITIONS}. */
public final class WordCount {
    private WordCount() {
    }

    public static void main(String[] arguments) {
        int partitions = Integer.parseInt(arguments[2]);
        try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("WordCount"))) {
            LongAccumulator words = context.sc().longAccumulator("words");
            context.newAPIHadoopFile(
                            arguments[0], TextInputFormat.class, LongWritable.class, Text.class,
                            context.hadoopConfiguration())
                    .flatMapToPair(line -> {
                        StringTokenizer tokens = new StringTokenizer(line._2.toString());
                        int count = tokens.countTokens();
                        words.add(count);
                        Tuple2<?, ?>[] pairs = new Tuple2<?, ?>[count];
                        for (int word = 0; word < count; word++) {
                            pairs[word] = new Tuple2<>(tokens.nextToken(), 1L);
                        }
                        @SuppressWarnings("unchecked")
                        Tuple2<String, Long>[] typed = (Tuple2<String, Long>[]) pairs;
                        return count == 0 ? Collections.emptyIterator() : Arrays.asList(typed).iterator();
                    })
                    .reduceByKey(Long::sum, partitions)
                    .mapToPair(pair -> new Tuple2<>(new Text(pair._1), new LongWritable(pair._2)))
                    .saveAsNewAPIHadoopFile(
                            arguments[1], Text.class, LongWritable.class, TextOutputFormat.class,
                            context.hadoopConfiguration());
            Counts.tell("MAP_OUTPUT_RECORDS", words.value());
        }
    }
}
