package io.github.assay.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The tables UserVisits and Rankings as views, with money in cents, so that sums are exact. */
final class SqlTables {
    private SqlTables() {
    }

    static void open(SparkSession session, String folder) {
        Dataset<Row> visits = session.read().schema(new StructType()
                        .add("sourceIP", DataTypes.StringType)
                        .add("destURL", DataTypes.StringType)
                        .add("visitDate", DataTypes.StringType)
                        .add("adRevenue", DataTypes.StringType))
                .option("enforceSchema", "true").csv(folder + "/uservisits");
        visits.selectExpr(
                        "sourceIP", "destURL", "visitDate", "CAST(replace(adRevenue, '.', '') AS BIGINT) AS cents")
                .createOrReplaceTempView("uservisits");
        session.read().schema(new StructType()
                        .add("pageURL", DataTypes.StringType)
                        .add("pageRank", DataTypes.LongType))
                .option("enforceSchema", "true").csv(folder + "/rankings")
                .createOrReplaceTempView("rankings");
    }
}
