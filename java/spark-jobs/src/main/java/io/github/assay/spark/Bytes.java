package io.github.assay.spark;

import java.io.Serializable;
import java.util.Arrays;

/** A key of bytes: equal and hashed by what is in it, and ordered byte by byte without signs. */
public final class Bytes implements Comparable<Bytes>, Serializable {
    private static final long serialVersionUID = 1L;
    final byte[] bytes;

    Bytes(byte[] bytes) {
        this.bytes = bytes;
    }

    @Override
    public int compareTo(Bytes other) {
        return Arrays.compareUnsigned(bytes, other.bytes);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Bytes && Arrays.equals(bytes, ((Bytes) other).bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }
}
