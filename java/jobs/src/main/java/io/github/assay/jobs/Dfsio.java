package io.github.assay.jobs;

import java.io.IOException;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * TestDFSIO's load (each map writes or reads one file as fast as it can), with every map's bytes per second of one clock.
 *
 * <p>That is what an aggregate over the whole cluster needs, and what HiBench's enhanced DFSIO set out to do; see
 * docs/reference/workloads.md for what differs. A map leaves one line of JSON: its host, when it began to open its file and when
 * it had closed it, the bytes that really went, in each second of the file system's clock, and how far that clock is
 * known. Nothing is averaged here.
 */
public final class Dfsio extends Configured implements Tool {
    static final int BUFFER_BYTES = 1_000_000;
    private static final String OPERATION = "assay.dfsio.operation";
    private static final String FOLDER = "assay.dfsio.folder";
    private static final String FILE_BYTES = "assay.dfsio.file.bytes";
    private static final String CLOCK = "assay.dfsio.clock";

    /** Writes or reads file number {@code row}. */
    public static final class StreamMapper extends Mapper<LongWritable, NullWritable, NullWritable, Text> {
        @Override
        protected void map(LongWritable row, NullWritable nothing, Context context)
                throws IOException, InterruptedException {
            Configuration settings = context.getConfiguration();
            Path file = new Path(settings.get(FOLDER), String.format(Locale.ROOT, "file-%05d", row.get()));
            FileSystem files = file.getFileSystem(settings);
            Path probes = new Path(settings.get(CLOCK), context.getTaskAttemptID().toString());
            long wallMs = System.currentTimeMillis();
            long wallNanos = System.nanoTime();
            SharedClock clock = SharedClock.measure(files, new Path(probes, "before"));
            Slots slots = new Slots();
            long began = System.nanoTime();
            if (settings.get(OPERATION).equals("write")) {
                write(files, file, settings.getLong(FILE_BYTES, 0), Payload.of(settings, row.get()), clock, slots);
            } else {
                read(files, file, clock, slots);
            }
            long ended = System.nanoTime();
            SharedClock after = SharedClock.measure(files, new Path(probes, "after"));
            String line = String.format(Locale.ROOT,
                    "{\"file\":\"%s\",\"host\":\"%s\",\"start_ms\":%.3f,\"end_ms\":%.3f,\"clock_offset_ms\":%.3f,"
                            + "\"clock_error_ms\":%.3f,\"clock_drift_ms\":%.3f,\"first_slot_s\":%d,\"slot_bytes\":[%s]}",
                    file.getName(), host(), clock.ms(began), clock.ms(ended), clock.ms(wallNanos) - wallMs,
                    Math.max(clock.errorMs(), after.errorMs()), after.ms(ended) - clock.ms(ended), slots.first(),
                    Arrays.stream(slots.bytes()).mapToObj(Long::toString).collect(Collectors.joining(",")));
            context.write(NullWritable.get(), new Text(line));
        }

        private static void write(FileSystem files, Path file, long length, Payload payload, SharedClock clock,
                Slots slots) throws IOException {
            byte[] buffer = new byte[BUFFER_BYTES];
            payload.fill(buffer);
            try (FSDataOutputStream out = files.create(file, true)) {
                for (long left = length; left > 0; left -= buffer.length) {
                    int wanted = (int) Math.min(left, buffer.length);
                    if (payload.isRandom()) {
                        payload.fill(buffer);
                    }
                    long asked = System.nanoTime();
                    out.write(buffer, 0, wanted);
                    slots.add(clock.ms(asked), clock.ms(System.nanoTime()), wanted);
                }
            }
        }

        private static void read(FileSystem files, Path file, SharedClock clock, Slots slots) throws IOException {
            byte[] buffer = new byte[BUFFER_BYTES];
            try (FSDataInputStream in = files.open(file)) {
                while (true) {
                    long asked = System.nanoTime();
                    int got = in.read(buffer);
                    if (got < 0) {
                        return;
                    }
                    slots.add(clock.ms(asked), clock.ms(System.nanoTime()), got);
                }
            }
        }

        private static String host() throws IOException {
            String node = System.getenv("NM_HOST"); // YARN's name of the node; host names may be shared
            return node != null ? node : InetAddress.getLocalHost().getHostName();
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (!Arguments.fit(arguments, "Dfsio write|read FOLDER SERIES FILES FILE_BYTES")) {
            return 2;
        }
        boolean writes = arguments[0].equals("write");
        if (!writes && !arguments[0].equals("read")) {
            throw new IllegalArgumentException("the operation is write or read, not " + arguments[0]);
        }
        Path folder = new Path(arguments[1]);
        Path series = new Path(arguments[2]);
        int count = Integer.parseInt(arguments[3]);
        Job job = Arguments.job(getConf(), Dfsio.class);
        Configuration settings = job.getConfiguration();
        settings.set(OPERATION, arguments[0]);
        settings.set(FOLDER, folder.toString());
        settings.set(CLOCK, new Path(series, "_clock").toString());
        settings.setLong(FILE_BYTES, Long.parseLong(arguments[4]));
        settings.setInt(MRJobConfig.NUM_MAPS, count);
        Arguments.withoutSpeculation(job);
        Arguments.delete(settings, series);
        if (writes) {
            Arguments.delete(settings, folder);
        }
        RowInputFormat.use(job, count);
        job.setMapperClass(StreamMapper.class);
        job.setNumReduceTasks(0);
        job.setOutputFormatClass(TextOutputFormat.class);
        job.setOutputKeyClass(NullWritable.class);
        job.setOutputValueClass(Text.class);
        FileOutputFormat.setOutputPath(job, series);
        Arguments.done(job);
        Arguments.delete(settings, new Path(settings.get(CLOCK)));
        return 0;
    }

    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new Configuration(), new Dfsio(), arguments));
    }
}
