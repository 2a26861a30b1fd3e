package io.github.assay.spark;

/** Tells the engine what a program counted: a line each on standard output, read as a job's counters are. */
final class Counts {
    private Counts() {
    }

    static void tell(String name, long value) {
        System.out.println("assay-counter " + name + " " + value);
    }
}
