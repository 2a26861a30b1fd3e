package io.github.assay.spark;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.LongAccumulator;

/** Sums revenue by visitor, as Hadoop's job of this name does, by Spark SQL: {@code SqlAggregation TABLES OUTPUT}. */
public final class SqlAggregation {
    private SqlAggregation() {
    }

    public static void main(String[] arguments) throws Exception {
        try (SparkSession session = SparkSession.builder().appName("SqlAggregation").getOrCreate()) {
            SqlTables.open(session, arguments[0]);
            LongAccumulator visits = session.sparkContext().longAccumulator("visits");
            LongAccumulator cents = session.sparkContext().longAccumulator("cents");
            LongAccumulator groups = session.sparkContext().longAccumulator("groups");
            session.sql("SELECT sourceIP, SUM(cents) AS revenue, COUNT(*) AS visits FROM uservisits GROUP BY sourceIP")
                    .javaRDD()
                    .map(row -> {
                        cents.add(row.getLong(1));
                        visits.add(row.getLong(2));
                        groups.add(1L);
                        return row.getString(0) + "\t" + money(row.getLong(1));
                    })
                    .saveAsTextFile(arguments[1]);
            Counts.tell("MAP_INPUT_RECORDS", visits.value());
            Counts.tell("GROUPED_REVENUE_CENTS", cents.value());
            Counts.tell("REDUCE_OUTPUT_RECORDS", groups.value());
        }
    }

    /** Returns an amount with a point before its last two digits. */
    static String money(long cents) {
        return cents / 100 + "." + cents % 100 / 10 + cents % 10;
    }
}
