package io.github.assay.jobs;

import java.io.IOException;
import java.util.SplittableRandom;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.output.NullOutputFormat;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/**
 * Moves generated records from maps to reduces, and neither reads nor writes the distributed file system.
 *
 * <p>Kambatla and Chen (LISA'14), table 2: "Shuffle-only job, modified from randomtextwriter in hadoop-examples." As
 * there, a key has 5 to 9 words and a value 10 to 99, from a list of 1000. With {@code assay.payload=random} the bytes
 * are random and can't be compressed. Keys and values of all maps have exactly the bytes that were asked for. Both sides
 * count bytes and a checksum (the sum of the records' CRC32), which must agree. A map or a reduce can spend additional CPU
 * time in {@link Burner}, to test profiles.
 */
public final class Shuffle extends Configured implements Tool {
    static final String SENT_BYTES = "SHUFFLE_SENT_BYTES";
    static final String SENT_CHECKSUM = "SHUFFLE_SENT_CHECKSUM";
    static final String RECEIVED_BYTES = "SHUFFLE_RECEIVED_BYTES";
    static final String RECEIVED_CHECKSUM = "SHUFFLE_RECEIVED_CHECKSUM";
    private static final String BYTES = "assay.shuffle.bytes";
    private static final String SHARES = "assay.shuffle.shares";
    private static final String MAP_BURN_MS = "assay.shuffle.map-burn-ms";
    private static final String REDUCE_BURN_MS = "assay.shuffle.reduce-burn-ms";
    private static final int WORDS = 1000;
    private static final int KEY_WORDS_MIN = 5;
    private static final int KEY_WORDS_END = 10;
    private static final int VALUE_WORDS_MIN = 10;
    private static final int VALUE_WORDS_END = 100;

    /** Makes the records of one map: row {@code i} stands for the i-th even share of all bytes. */
    public static final class SendMapper extends Mapper<LongWritable, NullWritable, Text, Text> {
        private final Text key = new Text();
        private final Text value = new Text();
        private final Tally tally = new Tally();

        @Override
        protected void setup(Context context) {
            Burner.burnCpu(context.getConfiguration().getLong(MAP_BURN_MS, 0));
        }

        @Override
        protected void map(LongWritable row, NullWritable nothing, Context context)
                throws IOException, InterruptedException {
            Configuration settings = context.getConfiguration();
            long all = settings.getLong(BYTES, 0);
            long shares = settings.getLong(SHARES, 1);
            long left = RowInputFormat.share(all, row.get() + 1, shares) - RowInputFormat.share(all, row.get(), shares);
            Records records = new Records(settings, row.get());
            while (left > 0) {
                records.next(KEY_WORDS_MIN, KEY_WORDS_END, left, key);
                left -= key.getLength();
                records.next(VALUE_WORDS_MIN, VALUE_WORDS_END, left, value);
                left -= value.getLength();
                tally.add(key, value);
                context.write(key, value);
            }
        }

        @Override
        protected void cleanup(Context context) {
            context.getCounter(Arguments.COUNTERS, SENT_BYTES).increment(tally.bytes);
            context.getCounter(Arguments.COUNTERS, SENT_CHECKSUM).increment(tally.checksum);
        }
    }

    /** Takes the records and forgets them. */
    public static final class ReceiveReducer extends Reducer<Text, Text, NullWritable, NullWritable> {
        private final Tally tally = new Tally();

        @Override
        protected void setup(Context context) {
            Burner.burnCpu(context.getConfiguration().getLong(REDUCE_BURN_MS, 0));
        }

        @Override
        protected void reduce(Text key, Iterable<Text> values, Context context) {
            for (Text value : values) {
                tally.add(key, value);
            }
        }

        @Override
        protected void cleanup(Context context) {
            context.getCounter(Arguments.COUNTERS, RECEIVED_BYTES).increment(tally.bytes);
            context.getCounter(Arguments.COUNTERS, RECEIVED_CHECKSUM).increment(tally.checksum);
        }
    }

    /** Bytes and checksum of records, whatever their order. */
    private static final class Tally {
        private final CRC32 crc = new CRC32();
        private long bytes;
        private long checksum;

        void add(Text key, Text value) {
            crc.reset();
            crc.update(key.getBytes(), 0, key.getLength());
            crc.update(value.getBytes(), 0, value.getLength());
            checksum += crc.getValue();
            bytes += key.getLength() + (long) value.getLength();
        }
    }

    /** The texts of one map. */
    private static final class Records {
        private final byte[][] words = new byte[WORDS][];
        private final SplittableRandom random;
        private final Payload payload;
        private byte[] buffer = new byte[0];

        Records(Configuration settings, long map) {
            // The list is the same in every map: words of 3 to 16 small letters, each with a space behind it.
            SplittableRandom letters = new SplittableRandom(Seeded.mix(Arguments.seed(settings)));
            for (int word = 0; word < WORDS; word++) {
                words[word] = new byte[letters.nextInt(3, 17) + 1];
                for (int letter = 0; letter < words[word].length - 1; letter++) {
                    words[word][letter] = (byte) letters.nextInt('a', 'z' + 1);
                }
                words[word][words[word].length - 1] = ' ';
            }
            random = new SplittableRandom(Seeded.mix(letters.nextLong() + map));
            payload = Payload.of(settings, map);
        }

        /** Sets {@code text} to between {@code least} and {@code end} - 1 words, cut after {@code most} bytes. */
        void next(int least, int end, long most, Text text) {
            text.clear();
            int count = random.nextInt(least, end);
            for (int word = 0; word < count; word++) {
                byte[] chosen = words[random.nextInt(WORDS)];
                int length = (int) Math.min(chosen.length, most - text.getLength());
                text.append(chosen, 0, length);
            }
            if (payload.isRandom()) {
                if (buffer.length != text.getLength()) {
                    buffer = new byte[text.getLength()];
                }
                payload.fill(buffer);
                text.set(buffer);
            }
        }
    }

    @Override
    public int run(String[] arguments) throws Exception {
        if (!Arguments.fit(arguments, "Shuffle BYTES")) {
            return 2;
        }
        Arguments.done(job(getConf(), Long.parseLong(arguments[0])));
        return 0;
    }

    static Job job(Configuration settings, long bytes) throws IOException {
        Job job = Arguments.job(settings, Shuffle.class);
        job.getConfiguration().setLong(BYTES, bytes);
        int maps = settings.getInt(MRJobConfig.NUM_MAPS, 1);
        job.getConfiguration().setLong(SHARES, maps);
        RowInputFormat.use(job, maps);
        job.setMapperClass(SendMapper.class);
        job.setMapOutputKeyClass(Text.class);
        job.setMapOutputValueClass(Text.class);
        job.setReducerClass(ReceiveReducer.class);
        job.setOutputFormatClass(NullOutputFormat.class);
        return job;
    }

    public static void main(String[] arguments) throws Exception {
        System.exit(ToolRunner.run(new Configuration(), new Shuffle(), arguments));
    }
}
