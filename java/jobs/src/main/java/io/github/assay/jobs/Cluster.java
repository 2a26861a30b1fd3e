package io.github.assay.jobs;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.io.Writable;

/** Points that have one centroid: how many, their squared distances from it added up, and their coordinates added up. */
public final class Cluster implements Writable {
    private long count;
    private double cost;
    private double[] sums = new double[0];

    /** For Hadoop, which fills the cluster by {@link #readFields}. */
    public Cluster() {
    }

    void set(long newCount, double newCost, double[] newSums) {
        count = newCount;
        cost = newCost;
        sums = newSums;
    }

    /** Adds up parts of one cluster. */
    void sum(Iterable<Cluster> parts) {
        long points = 0;
        double costs = 0;
        double[] all = new double[0];
        for (Cluster part : parts) {
            points += part.count;
            costs += part.cost;
            all = all.length == 0 ? new double[part.sums.length] : all;
            for (int dimension = 0; dimension < all.length; dimension++) {
                all[dimension] += part.sums[dimension];
            }
        }
        set(points, costs, all);
    }

    /** Returns the cluster as text: count, cost and the mean's coordinates, with tabs between and commas within. */
    String describe() {
        StringBuilder text = new StringBuilder().append(count).append('\t').append(cost).append('\t');
        for (int dimension = 0; dimension < sums.length; dimension++) {
            text.append(dimension == 0 ? "" : ",").append(sums[dimension] / count);
        }
        return text.toString();
    }

    @Override
    public void write(DataOutput out) throws IOException {
        out.writeLong(count);
        out.writeDouble(cost);
        out.writeInt(sums.length);
        for (double sum : sums) {
            out.writeDouble(sum);
        }
    }

    @Override
    public void readFields(DataInput in) throws IOException {
        count = in.readLong();
        cost = in.readDouble();
        int dimensions = in.readInt();
        sums = sums.length == dimensions ? sums : new double[dimensions];
        for (int dimension = 0; dimension < dimensions; dimension++) {
            sums[dimension] = in.readDouble();
        }
    }
}
