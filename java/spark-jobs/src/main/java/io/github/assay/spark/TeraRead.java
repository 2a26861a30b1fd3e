package io.github.assay.spark;

import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.util.LongAccumulator;

/** Reads TeraGen's rows and does nothing else: {@code TeraRead INPUT}. */
public final class TeraRead {
    private TeraRead() {
    }

    public static void main(String[] arguments) {
        try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("TeraRead"))) {
            LongAccumulator rows = context.sc().longAccumulator("rows");
            context.newAPIHadoopFile(
                            arguments[0], RowInput.class, NullWritable.class, BytesWritable.class,
                            context.hadoopConfiguration())
                    .foreachPartition(given -> {
                        long count = 0;
                        while (given.hasNext()) {
                            given.next();
                            count++;
                        }
                        rows.add(count);
                    });
            Counts.tell("MAP_INPUT_RECORDS", rows.value());
            Counts.tell("TERAREAD_BYTES", rows.value() * RowInput.ROW_BYTES);
        }
    }
}
