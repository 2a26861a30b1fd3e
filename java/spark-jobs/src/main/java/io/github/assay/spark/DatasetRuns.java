package io.github.assay.spark;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.element_at;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.min;

import java.util.Arrays;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.expressions.Window;

/**
 * Picks the runs of a dataset that have these levels: {@code DatasetRuns DATASET OUTPUT WHERE FIGURES}. WHERE is lines of a
 * fact and levels, parted by tabs; a run has to have one of the levels of every fact. FIGURES are lines of names: of each run its facts and these
 * figures are written, as Parquet, with where it stood in its repository. A run that several bundles hold counts once.
 */
public final class DatasetRuns {
    private DatasetRuns() {
    }

    public static void main(String[] arguments) throws Exception {
        try (SparkSession session = SparkSession.builder().appName("DatasetRuns").getOrCreate()) {
            Dataset<Row> runs = session.read().parquet(arguments[0] + "/runs");
            runs = runs.withColumn("first", min("bundle").over(Window.partitionBy("run_id")))
                    .where(col("first").equalTo(col("bundle")));
            for (String line : (Iterable<String>) arguments[2].lines()::iterator) {
                String[] wanted = line.split("\t");
                runs = runs.where(fact(wanted[0]).isin((Object[]) Arrays.copyOfRange(wanted, 1, wanted.length)));
            }
            Column[] picked = new Column[3 + (int) arguments[3].lines().count()];
            picked[0] = col("run_id");
            picked[1] = col("place");
            picked[2] = col("facts");
            int next = 3;
            for (String name : (Iterable<String>) arguments[3].lines()::iterator) {
                picked[next] = element_at(col("figures"), lit(name)).as("figure_" + (next - 3));
                next++;
            }
            runs.select(picked).write().parquet(arguments[1]);
        }
    }

    private static Column fact(String name) {
        return element_at(col("facts"), lit(name));
    }
}
