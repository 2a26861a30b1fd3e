package io.github.assay.jobs;

import java.util.SplittableRandom;
import org.apache.hadoop.conf.Configuration;

/**
 * The bytes that a job writes or sends: a repeating pattern, as stock jobs have it, or random bytes.
 *
 * <p>The pattern is TestDFSIO's fifty characters from '0' on; any compression shrinks it to next to nothing. Random
 * bytes come from a seed, are never repeated and can't be compressed.
 */
final class Payload {
    static final String PROPERTY = "assay.payload";
    private static final int PATTERN_LENGTH = 50;

    private final SplittableRandom random;

    private Payload(SplittableRandom random) {
        this.random = random;
    }

    /** Returns stream {@code stream} of the payload that {@code settings} ask for. */
    static Payload of(Configuration settings, long stream) {
        String name = settings.get(PROPERTY, "pattern");
        switch (name) {
            case "pattern":
                return new Payload(null);
            case "random":
                return new Payload(new SplittableRandom(Seeded.mix(Seeded.mix(Arguments.seed(settings)) + stream)));
            default:
                throw new IllegalArgumentException(PROPERTY + " is pattern or random, not " + name);
        }
    }

    boolean isRandom() {
        return random != null;
    }

    /** Fills the whole buffer with the next bytes; of the pattern each buffer is the same. */
    void fill(byte[] buffer) {
        if (random != null) {
            random.nextBytes(buffer);
            return;
        }
        for (int index = 0; index < Math.min(PATTERN_LENGTH, buffer.length); index++) {
            buffer[index] = (byte) ('0' + index);
        }
        for (int done = PATTERN_LENGTH; done < buffer.length; done *= 2) {
            System.arraycopy(buffer, 0, buffer, done, Math.min(done, buffer.length - done));
        }
    }
}
