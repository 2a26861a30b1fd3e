package io.github.assay.jobs;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** A deliberately slow method, which a profile of a task must find. */
public final class Burner {
    private static final long STEPS = 100_000;

    private Burner() {
    }

    /** Computes until this thread has spent {@code milliseconds} more of CPU time; returns the computed number. */
    public static long burnCpu(long milliseconds) {
        if (milliseconds <= 0) {
            return 0;
        }
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long until = threads.getCurrentThreadCpuTime() + milliseconds * 1_000_000;
        long number = milliseconds;
        while (threads.getCurrentThreadCpuTime() < until) {
            for (long step = 0; step < STEPS; step++) {
                number = number * 6364136223846793005L + 1442695040888963407L;
            }
        }
        return number;
    }
}
