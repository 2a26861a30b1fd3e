package io.github.assay.jobs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.DeflaterOutputStream;
import org.apache.hadoop.examples.terasort.TeraGen;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The jobs that only move bytes: TeraRead, Shuffle and Dfsio. */
class StreamsTest {
    private static final long FILE_BYTES = 2_500_000;

    @TempDir
    Path folder;

    @Test
    void teraReadReadsEveryRowAndWritesNothing() throws Exception {
        Local local = new Local(folder);
        local.run(new TeraGen(), Map.of("mapreduce.job.maps", "2"), "1000", local.at("rows"));
        Counters counters = Arguments.done(TeraRead.job(local.settings(Map.of()),
                new org.apache.hadoop.fs.Path(local.at("rows")))).getCounters();
        assertEquals(1000, counters.findCounter(TaskCounter.MAP_INPUT_RECORDS).getValue());
        assertEquals(100_000, counters.findCounter(Arguments.COUNTERS, TeraRead.ROW_BYTES).getValue());
        assertEquals(0, counters.findCounter(TaskCounter.MAP_OUTPUT_RECORDS).getValue());
    }

    @Test
    void shuffleConservesExactlyTheBytesThatWereAskedFor() throws Exception {
        Local local = new Local(folder);
        for (String payload : List.of("pattern", "random")) {
            Map<String, String> options = Map.of("mapreduce.job.maps", "3", Payload.PROPERTY, payload);
            Counters counters = Arguments.done(Shuffle.job(local.settings(options), 100_001)).getCounters();
            assertEquals(100_001, counters.findCounter(Arguments.COUNTERS, Shuffle.SENT_BYTES).getValue());
            assertEquals(100_001, counters.findCounter(Arguments.COUNTERS, Shuffle.RECEIVED_BYTES).getValue());
            long sent = counters.findCounter(Arguments.COUNTERS, Shuffle.SENT_CHECKSUM).getValue();
            assertEquals(sent, counters.findCounter(Arguments.COUNTERS, Shuffle.RECEIVED_CHECKSUM).getValue());
            assertTrue(sent > 0);
            assertEquals(counters.findCounter(TaskCounter.MAP_OUTPUT_MATERIALIZED_BYTES).getValue(),
                    counters.findCounter(TaskCounter.REDUCE_SHUFFLE_BYTES).getValue());
        }
    }

    @Test
    void dfsioTellsWhatEachMapReallyMoved() throws Exception {
        Local local = new Local(folder);
        local.run(new Dfsio(), Map.of(), "write", local.at("data"), local.at("wrote"), "3", "" + FILE_BYTES);
        local.run(new Dfsio(), Map.of(), "read", local.at("data"), local.at("read"), "3", "1");
        for (String series : List.of("wrote", "read")) {
            List<String> lines = local.lines(series);
            assertEquals(3, lines.size());
            for (String line : lines) {
                assertEquals(FILE_BYTES, slotTotal(line), "really moved, not what was asked for");
                double start = number(line, "start_ms");
                double end = number(line, "end_ms");
                long firstSlot = (long) number(line, "first_slot_s");
                assertTrue(start < end, line);
                assertTrue(Math.floor(start / 1000) <= firstSlot && firstSlot <= end / 1000, line);
                assertTrue(number(line, "clock_error_ms") >= 0.5, line);
            }
        }
        assertFalse(Files.exists(folder.resolve("wrote/_clock")));
        assertEquals(FILE_BYTES, Files.size(folder.resolve("data/file-00002")));
    }

    @Test
    void aFileThatIsShorterThanItShouldBeIsReadAsItIs() throws Exception {
        Local local = new Local(folder);
        local.run(new Dfsio(), Map.of(), "write", local.at("data"), local.at("wrote"), "1", "1000");
        local.run(new Dfsio(), Map.of(), "read", local.at("data"), local.at("read"), "1", "5000");
        assertEquals(1000, slotTotal(local.lines("read").get(0)));
        assertThrows(IOException.class,
                () -> local.run(new Dfsio(), Map.of(), "read", local.at("data"), local.at("read"), "2", "1000"));
    }

    @Test
    void aPatternShrinksAndRandomBytesDoNot() throws Exception {
        Local local = new Local(folder);
        for (String payload : List.of("pattern", "random")) {
            Map<String, String> options = Map.of(Payload.PROPERTY, payload);
            local.run(new Dfsio(), options, "write", local.at(payload), local.at("series"), "2", "1500000");
        }
        byte[] pattern = Files.readAllBytes(folder.resolve("pattern/file-00001"));
        assertEquals("0123456789", new String(pattern, 0, 10, "US-ASCII"));
        assertArrayEquals(Arrays.copyOfRange(pattern, 0, 50), Arrays.copyOfRange(pattern, 50, 100));
        byte[] random = Files.readAllBytes(folder.resolve("random/file-00001"));
        assertTrue(deflated(pattern) < pattern.length / 50);
        assertTrue(deflated(random) > random.length);
        assertFalse(Arrays.equals(random, Files.readAllBytes(folder.resolve("random/file-00000"))));
        byte[] first = Arrays.copyOfRange(random, 0, 500_000);
        assertFalse(Arrays.equals(first, Arrays.copyOfRange(random, 1_000_000, 1_500_000)));
    }

    @Test
    void slotsShareACallOutByTimeAndLoseNothing() {
        Slots slots = new Slots();
        slots.add(500, 2500, 2000);
        slots.add(2500, 2500, 7);
        slots.add(5100, 5200, 10);
        assertEquals(0, slots.first());
        assertArrayEquals(new long[] {500, 1000, 507, 0, 0, 10}, slots.bytes());
        assertEquals(2017, slots.total());
        Slots uneven = new Slots();
        uneven.add(3000.3, 40_000.9, 1_000_003);
        assertEquals(1_000_003, uneven.total());
        assertEquals(3, uneven.first());
    }

    @Test
    void theClockIsTheFileSystemsWithinItsError() throws Exception {
        try (AnotherTime files = new AnotherTime()) {
            files.initialize(java.net.URI.create("file:///"), new Local(folder).settings(Map.of()));
            for (int round = 0; round < 5; round++) {
                org.apache.hadoop.fs.Path scratch = new org.apache.hadoop.fs.Path(folder.toString(), "probes" + round);
                SharedClock clock = SharedClock.measure(files, scratch);
                long least = AnotherTime.now();
                double time = clock.ms(System.nanoTime());
                long most = AnotherTime.now();
                assertTrue(least - clock.errorMs() <= time && time <= most + 1 + clock.errorMs(),
                        time + " is not between " + least + " and " + most + " ± " + clock.errorMs());
            }
        }
    }

    /** A file system on a machine whose clock is an hour behind. */
    private static final class AnotherTime extends RawLocalFileSystem {
        private final Map<org.apache.hadoop.fs.Path, Long> made = new HashMap<>();

        static long now() {
            return System.currentTimeMillis() - 3_600_000;
        }

        @Override
        public boolean mkdirs(org.apache.hadoop.fs.Path folder) throws IOException {
            made.put(folder, now());
            return super.mkdirs(folder);
        }

        @Override
        public FileStatus getFileStatus(org.apache.hadoop.fs.Path path) throws IOException {
            return made.containsKey(path) ? new FileStatus(0, true, 1, 0, made.get(path), path)
                    : super.getFileStatus(path);
        }
    }

    private static int deflated(byte[] bytes) throws IOException {
        ByteArrayOutputStream held = new ByteArrayOutputStream();
        try (DeflaterOutputStream out = new DeflaterOutputStream(held)) {
            out.write(bytes);
        }
        return held.size();
    }

    private static double number(String line, String name) {
        Matcher match = Pattern.compile("\"" + name + "\":(-?[0-9.]+)").matcher(line);
        assertTrue(match.find(), line);
        return Double.parseDouble(match.group(1));
    }

    private static long slotTotal(String line) {
        String list = line.substring(line.indexOf('[') + 1, line.indexOf(']'));
        return Arrays.stream(list.split(",")).mapToLong(Long::parseLong).sum();
    }
}
