package io.github.assay.spark;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.util.LongAccumulator;

/** A year's visits with the ranks of their pages, grouped by visitor, by Spark SQL: {@code SqlJoin TABLES OUTPUT}. */
public final class SqlJoin {
    private SqlJoin() {
    }

    public static void main(String[] arguments) throws Exception {
        try (SparkSession session = SparkSession.builder().appName("SqlJoin").getOrCreate()) {
            SqlTables.open(session, arguments[0]);
            LongAccumulator visits = session.sparkContext().longAccumulator("visits");
            LongAccumulator cents = session.sparkContext().longAccumulator("cents");
            LongAccumulator groups = session.sparkContext().longAccumulator("groups");
            session.sql("SELECT sourceIP, AVG(pageRank) AS meanRank, SUM(cents) AS revenue, COUNT(*) AS visits "
                            + "FROM rankings JOIN uservisits ON pageURL = destURL "
                            + "WHERE visitDate > '1999-01-01' AND visitDate < '2000-01-01' GROUP BY sourceIP")
                    .javaRDD()
                    .map(row -> {
                        cents.add(row.getLong(2));
                        visits.add(row.getLong(3));
                        groups.add(1L);
                        return row.getString(0) + "\t" + row.getDouble(1) + "\t" + SqlAggregation.money(row.getLong(2));
                    })
                    .saveAsTextFile(arguments[1]);
            Counts.tell("JOINED_VISITS", visits.value());
            Counts.tell("JOINED_REVENUE_CENTS", cents.value());
            Counts.tell("REDUCE_OUTPUT_RECORDS", groups.value());
        }
    }
}
