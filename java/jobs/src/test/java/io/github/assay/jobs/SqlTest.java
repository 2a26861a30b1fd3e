package io.github.assay.jobs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SqlTest {
    private static final int PAGES = 60;
    private static final int VISITS = 1000;

    @TempDir
    Path folder;
    private Local local;

    @BeforeEach
    void generate() throws Exception {
        local = new Local(folder);
        local.run(new SqlTables(), Map.of("mapreduce.job.maps", "2"), "" + PAGES, "" + VISITS, local.at("tables"));
        assertEquals(PAGES, local.lines("tables/rankings").size());
        assertEquals(VISITS, local.lines("tables/uservisits").size());
    }

    @Test
    void aggregationEqualsAPlainSum() throws Exception {
        local.run(new SqlAggregation(), Map.of(), local.at("tables"), local.at("out"));
        Map<String, Long> expected = new TreeMap<>();
        for (String row : local.lines("tables/uservisits")) {
            String[] columns = row.split(",");
            expected.merge(columns[0], Math.round(Double.parseDouble(columns[3]) * 100), Long::sum);
        }
        Map<String, Long> result = new TreeMap<>();
        for (String row : local.lines("out")) {
            String[] columns = row.split("\t");
            result.put(columns[0], Math.round(Double.parseDouble(columns[1]) * 100));
        }
        assertEquals(expected, result);
        assertTrue(result.size() > 50 && result.size() <= 100, "one visitor for ten visits");
    }

    @Test
    void joinEqualsALoopOverBothTables() throws Exception {
        local.run(new SqlJoin(), Map.of(), local.at("tables"), local.at("out"));
        Map<String, Integer> ranks = new HashMap<>();
        for (String row : local.lines("tables/rankings")) {
            ranks.put(row.split(",")[0], Integer.parseInt(row.split(",")[1]));
        }
        Map<String, long[]> groups = new TreeMap<>();
        for (String row : local.lines("tables/uservisits")) {
            String[] columns = row.split(",");
            if (columns[2].startsWith("1999-") && !columns[2].equals("1999-01-01")) {
                long[] group = groups.computeIfAbsent(columns[0], ip -> new long[3]);
                group[0]++;
                group[1] += ranks.get(columns[1]);
                group[2] += Math.round(Double.parseDouble(columns[3]) * 100);
            }
        }
        assertFalse(groups.isEmpty());
        Map<String, String> expected = new TreeMap<>();
        groups.forEach((ip, sums) -> expected.put(ip,
                (double) sums[1] / sums[0] + "\t" + Visit.money(sums[2])));
        Map<String, String> result = new TreeMap<>();
        for (String row : local.lines("out/groups")) {
            result.put(row.substring(0, row.indexOf('\t')), row.substring(row.indexOf('\t') + 1));
        }
        assertEquals(expected, result);
    }

    @Test
    void theTablesDependOnTheSeedAndNotOnTheNumberOfMaps() throws Exception {
        local.run(new SqlTables(), Map.of("mapreduce.job.maps", "5"), "" + PAGES, "" + VISITS, local.at("five"));
        local.run(new SqlTables(), Map.of(Arguments.SEED, "9"), "" + PAGES, "" + VISITS, local.at("other"));
        List<String> rows = local.lines("tables/uservisits");
        assertEquals(rows, local.lines("five/uservisits"));
        assertFalse(rows.equals(local.lines("other/uservisits")));
    }

    @Test
    void moneyIsExact() {
        assertEquals("0.05", Visit.money(5));
        assertEquals("1000.00", Visit.money(100_000));
        assertEquals(12_345, Visit.parse("1.1.1.1,u,1999-01-02,123.45,a").revenueCents);
        assertFalse(Visit.parse("1.1.1.1,u,1999-01-01,0.01,a").isSelected());
        assertTrue(Visit.parse("1.1.1.1,u,1999-12-31,0.01,a").isSelected());
        assertFalse(Visit.parse("1.1.1.1,u,2000-01-01,0.01,a").isSelected());
    }
}
