package io.github.assay.spark;

import java.util.Arrays;
import java.util.Comparator;
import java.io.Serializable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.spark.Partitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.util.LongAccumulator;
import scala.Tuple2;

/**
 * Sorts records of text by their keys, each partition its own, as Hadoop's Sort does it:
 * {@code Sort INPUT OUTPUT PARTITIONS}. Keys go to partitions by the hash that Hadoop's Text has, which SortValidator asks.
 */
public final class Sort {
    private Sort() {
    }

    public static void main(String[] arguments) {
        int partitions = Integer.parseInt(arguments[2]);
        try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("Sort"))) {
            LongAccumulator read = context.sc().longAccumulator("records read");
            LongAccumulator written = context.sc().longAccumulator("records written");
            context.newAPIHadoopFile(
                            arguments[0], InputOfText.class, Text.class, Text.class, context.hadoopConfiguration())
                    .mapToPair(record -> {
                        read.add(1L);
                        return new Tuple2<>(record._1.copyBytes(), record._2.copyBytes());
                    })
                    .repartitionAndSortWithinPartitions(new ByHash(partitions), new Order())
                    .mapToPair(record -> {
                        written.add(1L);
                        return new Tuple2<>(new Text(record._1), new Text(record._2));
                    })
                    .saveAsNewAPIHadoopFile(
                            arguments[1], Text.class, Text.class, SequenceFileOutputFormat.class,
                            context.hadoopConfiguration());
            Counts.tell("MAP_INPUT_RECORDS", read.value());
            Counts.tell("REDUCE_OUTPUT_RECORDS", written.value());
        }
    }

    /** Sequence files of text. */
    public static final class InputOfText extends SequenceFileInputFormat<Text, Text> {
    }

    /** What Hadoop's HashPartitioner does with a Text. */
    private static final class ByHash extends Partitioner {
        private static final long serialVersionUID = 1L;
        private final int partitions;

        ByHash(int partitions) {
            this.partitions = partitions;
        }

        @Override
        public int numPartitions() {
            return partitions;
        }

        @Override
        public int getPartition(Object key) {
            return (new Text((byte[]) key).hashCode() & Integer.MAX_VALUE) % partitions;
        }
    }

    private static final class Order implements Comparator<byte[]>, Serializable {
        private static final long serialVersionUID = 1L;

        @Override
        public int compare(byte[] first, byte[] second) {
            return Arrays.compareUnsigned(first, second);
        }
    }
}
