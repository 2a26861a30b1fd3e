package io.github.assay.spark;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkFiles;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.util.SerializableConfiguration;
import scala.Tuple2;

/**
 * Makes the tables of the decision-support workload as Parquet files: {@code DecisionData SCALE PARTS OUTPUT}. Each task
 * has the generator {@code tpchgen-cli}, which comes along as one of the application's files, write one part of a table. The
 * bytes and the sum of all files' checksums are printed, so that files made elsewhere can be compared.
 */
public final class DecisionData {
    private static final String GENERATOR = "tpchgen-cli";
    private static final String[] WHOLE = {"region", "nation"};
    private static final String[] PARTED = {"lineitem", "orders", "partsupp", "part", "customer", "supplier"};
    private static final int BUFFER_BYTES = 1 << 16;

    private DecisionData() {
    }

    public static void main(String[] arguments) {
        String scale = arguments[0];
        int parts = Integer.parseInt(arguments[1]);
        String output = arguments[2];
        List<String[]> wanted = new ArrayList<>();
        for (String table : PARTED) {
            for (int part = 1; part <= parts; part++) {
                wanted.add(new String[] {table, Integer.toString(part), Integer.toString(parts)});
            }
        }
        for (String table : WHOLE) {
            wanted.add(new String[] {table, "1", "1"});
        }
        try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("DecisionData"))) {
            Broadcast<SerializableConfiguration> storage =
                    context.broadcast(new SerializableConfiguration(context.hadoopConfiguration()));
            List<Tuple2<Long, Long>> made = context.parallelize(wanted, wanted.size())
                    .map(part -> made(scale, part[0], part[1], part[2], output, storage.value().value()))
                    .collect();
            Counts.tell("TABLES_BYTES", made.stream().mapToLong(Tuple2::_1).sum());
            Counts.tell("TABLES_CHECKSUM", made.stream().mapToLong(Tuple2::_2).sum());
        }
    }

    private static Tuple2<Long, Long> made(
            String scale, String table, String part, String parts, String output, Configuration storage)
            throws IOException, InterruptedException {
        String name = table + "/" + table + "." + part + ".parquet";
        CRC32 sum = new CRC32();
        sum.update(name.getBytes(StandardCharsets.UTF_8));
        long bytes = 0;
        Process generator = new ProcessBuilder(
                        SparkFiles.get(GENERATOR), "parquet", "--scale-factor", scale, "--tables", table, "--parts", parts,
                        "--part", part, "--num-threads", "1", "--quiet", "--stdout")
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        Path target = new Path(output, name);
        try (InputStream from = generator.getInputStream();
                OutputStream to = target.getFileSystem(storage).create(target, true)) {
            byte[] buffer = new byte[BUFFER_BYTES];
            for (int got = from.read(buffer); got >= 0; got = from.read(buffer)) {
                to.write(buffer, 0, got);
                sum.update(buffer, 0, got);
                bytes += got;
            }
        }
        int status = generator.waitFor();
        if (status != 0 || bytes == 0) {
            throw new IOException(GENERATOR + " ended with " + status + " and wrote " + bytes + " bytes of " + name);
        }
        return new Tuple2<>(bytes, sum.getValue());
    }
}
