package io.github.assay.jobs;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.io.Writable;

/** A page's rank and links; on the way to a reduce also a share of rank alone, which has no links. */
public final class Page implements Writable {
    private static final long[] NONE = new long[0];

    private double rank;
    private long[] links = NONE;

    /** For Hadoop, which fills the page by {@link #readFields}. */
    public Page() {
    }

    /** Makes this a page, or a share without links. */
    public void set(double newRank, long[] newLinks) {
        rank = newRank;
        links = newLinks;
    }

    /** Makes this a share of rank for some page. */
    void share(double share) {
        set(share, NONE);
    }

    /** Adds up shares; the one that has the page's links brings them. */
    void sum(Iterable<Page> parts) {
        double sum = 0;
        long[] pageLinks = NONE;
        for (Page part : parts) {
            sum += part.rank;
            pageLinks = part.links.length > 0 ? part.links : pageLinks;
        }
        set(sum, pageLinks);
    }

    /** Returns the rank, or the share of one. */
    public double rank() {
        return rank;
    }

    /** Returns the numbers of the pages linked to. */
    public long[] links() {
        return links;
    }

    @Override
    public void write(DataOutput out) throws IOException {
        out.writeDouble(rank);
        out.writeInt(links.length);
        for (long link : links) {
            out.writeLong(link);
        }
    }

    @Override
    public void readFields(DataInput in) throws IOException {
        rank = in.readDouble();
        int count = in.readInt();
        links = count == 0 ? NONE : new long[count];
        for (int index = 0; index < count; index++) {
            links[index] = in.readLong();
        }
    }
}
