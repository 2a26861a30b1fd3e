package io.github.assay.jobs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KMeansTest {
    private static final int POINTS = 500;
    private static final int CLUSTERS = 4;
    private static final int ITERATIONS = 3;

    @TempDir
    Path folder;

    @Test
    void centroidsEqualThoseOfAComputationInMemory() throws Exception {
        Local local = new Local(folder);
        local.run(new Points(), Map.of("mapreduce.job.maps", "3"), "" + POINTS, "" + CLUSTERS, local.at("points"));
        local.run(new KMeans(), Map.of(), local.at("points"), local.at("out"), "" + CLUSTERS, "" + ITERATIONS);
        double[][] points = new double[POINTS][];
        for (int row = 0; row < POINTS; row++) {
            points[row] = Points.coordinates(1, CLUSTERS, row);
        }
        double[][] centroids = {points[0], points[1], points[2], points[3]};
        double before = Double.POSITIVE_INFINITY;
        for (int iteration = 1; iteration <= ITERATIONS; iteration++) {
            long[] counts = new long[CLUSTERS];
            double cost = step(points, centroids, counts);
            List<String> lines = Files.readAllLines(folder.resolve("out/centroids-" + iteration));
            double costOfResult = 0;
            for (int cluster = 0; cluster < CLUSTERS; cluster++) {
                String[] columns = lines.get(cluster).split("\t");
                assertEquals(counts[cluster], Long.parseLong(columns[0]));
                costOfResult += Double.parseDouble(columns[1]);
                assertArrayEquals(centroids[cluster], KMeans.coordinates(lines.get(cluster)), 1e-9);
            }
            assertEquals(cost, costOfResult, cost * 1e-12);
            assertTrue(cost <= before, "an iteration never makes it worse");
            before = cost;
        }
    }

    @Test
    void moreClustersThanPointsAreRefused() throws Exception {
        Local local = new Local(folder);
        local.run(new Points(), Map.of(), "3", "2", local.at("points"));
        IOException refused = assertThrows(IOException.class,
                () -> local.run(new KMeans(), Map.of(), local.at("points"), local.at("out"), "4", "1"));
        assertTrue(refused.getMessage().startsWith("4 clusters need as many points"));
    }

    /** A file system that fails to store the last centroids, as HDFS does: in close(). */
    public static final class Failing extends LocalFileSystem {
        @Override
        public FSDataOutputStream create(org.apache.hadoop.fs.Path file, FsPermission permission, boolean overwrite,
                int bufferSize, short replication, long blockSize, Progressable progress) throws IOException {
            if (!file.getName().equals("centroids-1")) {
                return super.create(file, permission, overwrite, bufferSize, replication, blockSize, progress);
            }
            return new FSDataOutputStream(new ByteArrayOutputStream() {
                @Override
                public void close() throws IOException {
                    throw new IOException("could only be written to 0 nodes");
                }
            }, null);
        }
    }

    @Test
    void centroidsThatCanNotBeStoredAreAnError() throws Exception {
        Local local = new Local(folder);
        local.run(new Points(), Map.of(), "100", "2", local.at("points"));
        Map<String, String> failing = Map.of("fs.file.impl", Failing.class.getName(), "fs.file.impl.disable.cache", "true");
        IOException error = assertThrows(IOException.class,
                () -> local.run(new KMeans(), failing, local.at("points"), local.at("out"), "2", "1"));
        assertEquals("could only be written to 0 nodes", error.getMessage());
    }

    /** Does one iteration in place and returns the squared distances from the old centroids, added up. */
    private static double step(double[][] points, double[][] centroids, long[] counts) {
        double[][] sums = new double[centroids.length][Points.DIMENSIONS];
        double cost = 0;
        for (double[] point : points) {
            int nearest = 0;
            for (int cluster = 1; cluster < centroids.length; cluster++) {
                if (KMeans.squaredDistance(point, centroids[cluster])
                        < KMeans.squaredDistance(point, centroids[nearest])) {
                    nearest = cluster;
                }
            }
            cost += KMeans.squaredDistance(point, centroids[nearest]);
            counts[nearest]++;
            for (int dimension = 0; dimension < point.length; dimension++) {
                sums[nearest][dimension] += point[dimension];
            }
        }
        for (int cluster = 0; cluster < centroids.length; cluster++) {
            if (counts[cluster] > 0) {
                double[] mean = new double[Points.DIMENSIONS];
                for (int dimension = 0; dimension < mean.length; dimension++) {
                    mean[dimension] = sums[cluster][dimension] / counts[cluster];
                }
                centroids[cluster] = mean;
            }
        }
        return cost;
    }
}
