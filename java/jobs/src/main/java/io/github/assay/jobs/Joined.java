package io.github.assay.jobs;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.io.Writable;

/** Visits with the ranks of their pages: how many, the ranks added up, the revenue added up. */
public final class Joined implements Writable {
    private long visits;
    private long ranks;
    private long revenueCents;

    /** For Hadoop, which fills it by {@link #readFields}. */
    public Joined() {
    }

    void set(long newVisits, long newRanks, long newRevenueCents) {
        visits = newVisits;
        ranks = newRanks;
        revenueCents = newRevenueCents;
    }

    void sum(Iterable<Joined> parts) {
        set(0, 0, 0);
        for (Joined part : parts) {
            set(visits + part.visits, ranks + part.ranks, revenueCents + part.revenueCents);
        }
    }

    long visits() {
        return visits;
    }

    double meanRank() {
        return (double) ranks / visits;
    }

    long revenueCents() {
        return revenueCents;
    }

    @Override
    public void write(DataOutput out) throws IOException {
        out.writeLong(visits);
        out.writeLong(ranks);
        out.writeLong(revenueCents);
    }

    @Override
    public void readFields(DataInput in) throws IOException {
        visits = in.readLong();
        ranks = in.readLong();
        revenueCents = in.readLong();
    }
}
