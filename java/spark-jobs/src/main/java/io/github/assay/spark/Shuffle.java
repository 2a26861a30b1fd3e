package io.github.assay.spark;

import io.github.assay.jobs.Burner;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.zip.CRC32;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.util.LongAccumulator;
import scala.Tuple2;

/**
 * Moves generated records from one stage to the next, and neither reads nor writes the distributed file system:
 * {@code Shuffle BYTES MAPS PARTITIONS PAYLOAD SEED MAP_BURN_MS REDUCE_BURN_MS}. Keys have 5 to 9 words and values 10 to 99 of a list of 1000, as in
 * Hadoop's RandomTextWriter, or random bytes of that length. Both sides count bytes and the sum of the records' CRC32.
 */
public final class Shuffle {
    private static final int WORDS = 1000;

    private Shuffle() {
    }

    public static void main(String[] arguments) {
        long bytes = Long.parseLong(arguments[0]);
        int maps = Integer.parseInt(arguments[1]);
        int partitions = Integer.parseInt(arguments[2]);
        boolean random = arguments[3].equals("random");
        long seed = Long.parseLong(arguments[4]);
        long mapBurnMs = Long.parseLong(arguments[5]);
        long reduceBurnMs = Long.parseLong(arguments[6]);
        List<Integer> numbers = new ArrayList<>();
        for (int map = 0; map < maps; map++) {
            numbers.add(map);
        }
        try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName("Shuffle"))) {
            LongAccumulator sent = context.sc().longAccumulator("bytes sent");
            LongAccumulator sentSum = context.sc().longAccumulator("checksum sent");
            LongAccumulator received = context.sc().longAccumulator("bytes received");
            LongAccumulator receivedSum = context.sc().longAccumulator("checksum received");
            context.parallelize(numbers, maps)
                    .mapPartitionsToPair(given -> {
                        Burner.burnCpu(mapBurnMs);
                        int map = given.next();
                        long share = bytes / maps * (map + 1) + bytes % maps * (map + 1) / maps
                                - (bytes / maps * map + bytes % maps * map / maps);
                        return new Records(seed, map, share, random, sent, sentSum);
                    })
                    .repartitionAndSortWithinPartitions(new HashPartitioner(partitions))
                    .foreachPartition(given -> {
                        Burner.burnCpu(reduceBurnMs);
                        CRC32 crc = new CRC32();
                        while (given.hasNext()) {
                            Tuple2<Bytes, byte[]> record = given.next();
                            receivedSum.add(checksum(crc, record));
                            received.add((long) record._1.bytes.length + record._2.length);
                        }
                    });
            Counts.tell("SHUFFLE_SENT_BYTES", sent.value());
            Counts.tell("SHUFFLE_SENT_CHECKSUM", sentSum.value());
            Counts.tell("SHUFFLE_RECEIVED_BYTES", received.value());
            Counts.tell("SHUFFLE_RECEIVED_CHECKSUM", receivedSum.value());
        }
    }

    private static long checksum(CRC32 crc, Tuple2<Bytes, byte[]> record) {
        crc.reset();
        crc.update(record._1.bytes);
        crc.update(record._2);
        return crc.getValue();
    }

    /** The records of one map: exactly as many bytes as it is asked for. */
    private static final class Records implements Iterator<Tuple2<Bytes, byte[]>> {
        private final byte[][] words = new byte[WORDS][];
        private final SplittableRandom random;
        private final boolean noise;
        private final CRC32 crc = new CRC32();
        private final LongAccumulator sent;
        private final LongAccumulator sum;
        private long left;

        Records(long seed, int map, long bytes, boolean noise, LongAccumulator sent, LongAccumulator sum) {
            SplittableRandom letters = new SplittableRandom(seed);
            for (int word = 0; word < WORDS; word++) {
                words[word] = new byte[letters.nextInt(3, 17) + 1];
                for (int letter = 0; letter < words[word].length - 1; letter++) {
                    words[word][letter] = (byte) letters.nextInt('a', 'z' + 1);
                }
                words[word][words[word].length - 1] = ' ';
            }
            this.random = new SplittableRandom(letters.nextLong() + map);
            this.noise = noise;
            this.sent = sent;
            this.sum = sum;
            this.left = bytes;
        }

        @Override
        public boolean hasNext() {
            return left > 0;
        }

        @Override
        public Tuple2<Bytes, byte[]> next() {
            byte[] key = text(5, 10);
            byte[] value = text(10, 100);
            Tuple2<Bytes, byte[]> record = new Tuple2<>(new Bytes(key), value);
            sent.add((long) key.length + value.length);
            sum.add(checksum(crc, record));
            return record;
        }

        private byte[] text(int least, int end) {
            int count = random.nextInt(least, end);
            int length = 0;
            int[] chosen = new int[count];
            for (int word = 0; word < count; word++) {
                chosen[word] = random.nextInt(WORDS);
                length += words[chosen[word]].length;
            }
            byte[] made = new byte[(int) Math.min(length, left)];
            left -= made.length;
            if (noise) {
                random.nextBytes(made);
                return made;
            }
            int at = 0;
            for (int word = 0; word < count && at < made.length; word++) {
                int part = Math.min(words[chosen[word]].length, made.length - at);
                System.arraycopy(words[chosen[word]], 0, made, at, part);
                at += part;
            }
            return made;
        }
    }
}
