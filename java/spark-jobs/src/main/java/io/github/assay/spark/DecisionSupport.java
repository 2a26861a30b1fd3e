package io.github.assay.spark;

import java.io.OutputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * Answers questions over tables of Parquet files, one after the other and then in streams at once:
 * {@code DecisionSupport TABLES OUTPUT STREAMS QUESTIONS}. Questions are a number and SQL each, parted by semicolons. Each
 * one's time counts from its SQL to its last row; answers go into a file a question, after all are done.
 */
public final class DecisionSupport {
    private static final String[] TABLES = {
        "region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"
    };
    private static final long NANOS_OF_A_MILLI = 1_000_000;

    private DecisionSupport() {
    }

    public static void main(String[] arguments) throws Exception {
        int streams = Integer.parseInt(arguments[2]);
        List<String[]> questions = new ArrayList<>();
        for (String question : arguments[3].split(";")) {
            questions.add(question.split(" ", 2));
        }
        try (SparkSession session = SparkSession.builder().appName("DecisionSupport").getOrCreate()) {
            for (String table : TABLES) {
                session.read().parquet(arguments[0] + "/" + table).createOrReplaceTempView(table);
            }
            Map<String, String> answers = new TreeMap<>();
            for (String[] question : questions) {
                long began = System.nanoTime();
                answers.put(question[0], answer(session, question, "question " + question[0]));
                Counts.tell("QUESTION_" + question[0] + "_MS", (System.nanoTime() - began) / NANOS_OF_A_MILLI);
            }
            if (streams > 0) {
                long began = System.nanoTime();
                int differing = atOnce(session, questions, streams, answers);
                Counts.tell("STREAMS_MS", (System.nanoTime() - began) / NANOS_OF_A_MILLI);
                Counts.tell("STREAMS_DIFFERING_ANSWERS", differing);
            }
            for (Map.Entry<String, String> entry : answers.entrySet()) {
                Path path = new Path(arguments[1], "question-" + entry.getKey());
                try (OutputStream file = path.getFileSystem(
                        session.sparkContext().hadoopConfiguration()).create(path, true)) {
                    file.write(entry.getValue().getBytes(StandardCharsets.UTF_8));
                }
            }
        }
    }

    /** Has each stream ask all questions, each beginning elsewhere, and counts answers that differ from those there are. */
    private static int atOnce(SparkSession session, List<String[]> questions, int streams, Map<String, String> answers)
            throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(streams);
        try {
            List<Future<Integer>> running = new ArrayList<>();
            for (int stream = 0; stream < streams; stream++) {
                List<String[]> rotated = new ArrayList<>(questions);
                Collections.rotate(rotated, -(stream + 1) * questions.size() / (streams + 1));
                String name = "stream " + (stream + 1);
                running.add(threads.submit(() -> {
                    int differing = 0;
                    for (String[] question : rotated) {
                        differing += answer(session, question, name).equals(answers.get(question[0])) ? 0 : 1;
                    }
                    return differing;
                }));
            }
            int differing = 0;
            for (Future<Integer> result : running) {
                differing += result.get();
            }
            return differing;
        } finally {
            threads.shutdownNow();
        }
    }

    /** Returns the answer as a line a row, with tabs between columns. {@code jobs}: what its jobs are called. */
    private static String answer(SparkSession session, String[] question, String jobs) {
        session.sparkContext().setJobDescription(jobs);
        StringBuilder text = new StringBuilder();
        for (Row row : session.sql(question[1]).collectAsList()) {
            for (int column = 0; column < row.length(); column++) {
                text.append(column > 0 ? "\t" : "").append(cell(row.get(column)));
            }
            text.append('\n');
        }
        return text.toString();
    }

    private static String cell(Object value) {
        if (value == null) {
            return "\\N";
        }
        return value instanceof BigDecimal ? ((BigDecimal) value).toPlainString() : value.toString();
    }
}
