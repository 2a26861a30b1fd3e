package io.github.assay.spark;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.hadoop.io.BytesWritable;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** Writes rows: {@code Rows BYTES FILES OUTPUT}. For trying an engine; TeraGen makes the input of a measured TeraSort. */
public final class Rows {
    private Rows() {
    }

    public static void main(String[] arguments) {
        long rows = Long.parseLong(arguments[0]) / RowInput.ROW_BYTES;
        int files = Integer.parseInt(arguments[1]);
        List<Integer> numbers = new ArrayList<>();
        for (int file = 0; file < files; file++) {
            numbers.add(file);
        }
        try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("Rows"))) {
            context.parallelize(numbers, files)
                    .mapPartitionsToPair(given -> made(given.next(), rows / files))
                    .saveAsNewAPIHadoopFile(
                            arguments[2], BytesWritable.class, BytesWritable.class, RowOutput.class,
                            context.hadoopConfiguration());
        }
    }

    private static Iterator<Tuple2<BytesWritable, BytesWritable>> made(int file, long rows) {
        SplittableRandom random = new SplittableRandom(file);
        return new Iterator<>() {
            private long left = rows;

            @Override
            public boolean hasNext() {
                return left > 0;
            }

            @Override
            public Tuple2<BytesWritable, BytesWritable> next() {
                left--;
                byte[] key = new byte[RowInput.KEY_BYTES];
                random.nextBytes(key);
                byte[] value = new byte[RowInput.ROW_BYTES - RowInput.KEY_BYTES];
                return new Tuple2<>(new BytesWritable(key), new BytesWritable(value));
            }
        };
    }
}
