package io.github.assay.jobs;

import org.apache.commons.math3.random.JDKRandomGenerator;

/** Random numbers that depend on a seed and a row number alone, so that generated data is the same however many maps write it. */
final class Seeded {
    private Seeded() {
    }

    /** Returns the generator of row {@code row} of the stream that {@code seed} names. */
    static JDKRandomGenerator random(long seed, long row) {
        JDKRandomGenerator random = new JDKRandomGenerator();
        reseed(random, seed, row);
        return random;
    }

    /** Sets {@code random} to the beginning of row {@code row}; rows next to each other have unrelated numbers. */
    static void reseed(JDKRandomGenerator random, long seed, long row) {
        random.setSeed(mix(mix(seed) + row));
    }

    /** The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). */
    static long mix(long value) {
        long mixed = value + 0x9E3779B97F4A7C15L;
        mixed = (mixed ^ (mixed >>> 30)) * 0xBF58476D1CE4E5B9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
        return mixed ^ (mixed >>> 31);
    }
}
