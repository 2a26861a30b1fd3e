package io.github.assay.spark;

import java.util.Arrays;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * Sorts TeraGen's rows: {@code TeraSort INPUT OUTPUT PARTITIONS}. Rows are partitioned by ranges of keys, as Hadoop's
 * TeraSort does it, and sorted while they are shuffled; TeraValidate can check the output.
 */
public final class TeraSort {
    private TeraSort() {
    }

    public static void main(String[] arguments) throws Exception {
        Path input = new Path(arguments[0]);
        int partitions = Integer.parseInt(arguments[2]);
        try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("TeraSort"))) {
            KeyRanges ranges = KeyRanges.of(context.hadoopConfiguration(), input, partitions);
            JavaPairRDD<NullWritable, BytesWritable> rows = context.newAPIHadoopFile(
                    input.toString(), RowInput.class, NullWritable.class, BytesWritable.class,
                    context.hadoopConfiguration());
            rows.mapToPair(row -> split(row._2.getBytes()))
                    .repartitionAndSortWithinPartitions(ranges, new KeyRanges.Order())
                    .mapToPair(row -> new Tuple2<>(new BytesWritable(row._1), new BytesWritable(row._2)))
                    .saveAsNewAPIHadoopFile(
                            arguments[1], BytesWritable.class, BytesWritable.class, RowOutput.class,
                            context.hadoopConfiguration());
        }
    }

    private static Tuple2<byte[], byte[]> split(byte[] row) {
        return new Tuple2<>(
                Arrays.copyOf(row, RowInput.KEY_BYTES),
                Arrays.copyOfRange(row, RowInput.KEY_BYTES, RowInput.ROW_BYTES));
    }
}
