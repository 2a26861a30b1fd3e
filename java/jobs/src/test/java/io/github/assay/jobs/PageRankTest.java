package io.github.assay.jobs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PageRankTest {
    private static final int PAGES = 300;

    @TempDir
    Path folder;

    @Test
    void ranksEqualADenseComputationAndAddUpToOne() throws Exception {
        Local local = new Local(folder);
        local.run(new LinkGraph(), Map.of("mapreduce.job.maps", "3"), Integer.toString(PAGES), local.at("graph"));
        int status = local.run(new PageRank(), Map.of(), local.at("graph"), local.at("out"), "" + PAGES, "3");
        assertEquals(0, status);
        double[] expected = dense(local.links("graph"), 3);
        Map<Long, Double> ranks = local.ranks("out/iteration-3");
        assertEquals(PAGES, ranks.size());
        ranks.forEach((page, rank) -> assertEquals(1, rank / expected[page.intValue()], 1e-12));
        assertEquals(1, ranks.values().stream().mapToDouble(Double::doubleValue).sum(), 1e-12);
        assertTrue(folder.resolve("out").toFile().list().length == 1, "earlier iterations are removed");
    }

    @Test
    void theGraphDependsOnTheSeedAndNotOnTheNumberOfMaps() throws Exception {
        Local local = new Local(folder);
        local.run(new LinkGraph(), Map.of("mapreduce.job.maps", "1"), "50", local.at("one"));
        local.run(new LinkGraph(), Map.of("mapreduce.job.maps", "4"), "50", local.at("four"));
        local.run(new LinkGraph(), Map.of(Arguments.SEED, "2"), "50", local.at("other"));
        Map<Long, long[]> byOneMap = local.links("one");
        Map<Long, long[]> four = local.links("four");
        Map<Long, long[]> other = local.links("other");
        byOneMap.forEach((page, links) -> assertArrayEquals(links, four.get(page)));
        assertTrue(byOneMap.entrySet().stream().anyMatch(e -> !Arrays.equals(e.getValue(), other.get(e.getKey()))));
        assertTrue(byOneMap.values().stream().allMatch(links -> links.length > 0));
        long toFirst = byOneMap.values().stream().flatMapToLong(Arrays::stream).filter(link -> link == 0).count();
        long toMiddle = byOneMap.values().stream().flatMapToLong(Arrays::stream).filter(link -> link == 25).count();
        assertTrue(toFirst > 5 * toMiddle, "popularity follows Zipf's law");
    }

    private static double[] dense(Map<Long, long[]> links, int iterations) {
        double[] ranks = new double[links.size()];
        Arrays.fill(ranks, 1.0 / links.size());
        for (int iteration = 0; iteration < iterations; iteration++) {
            double[] next = new double[ranks.length];
            Arrays.fill(next, (1 - PageRank.DAMPING) / ranks.length);
            for (Map.Entry<Long, long[]> page : links.entrySet()) {
                for (long target : page.getValue()) {
                    double rank = ranks[page.getKey().intValue()];
                    next[(int) target] += PageRank.DAMPING * rank / page.getValue().length;
                }
            }
            ranks = next;
        }
        return ranks;
    }
}
