package io.github.assay.jobs;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;

/** What all jobs do alike: check their arguments, set up a job, wait for it. */
final class Arguments {
    /** Property that seeds everything random. */
    static final String SEED = "assay.seed";
    /** Group of the counters that the checks of a run compare. */
    static final String COUNTERS = "assay";

    private Arguments() {
    }

    /** Says on standard error how the program is called, when {@code given} is not as many words as {@code usage} has. */
    static boolean fit(String[] given, String usage) {
        boolean enough = given.length == usage.split(" ").length - 1;
        if (!enough) {
            System.err.println("usage: " + usage);
        }
        return enough;
    }

    static Job job(Configuration settings, Class<?> program) throws IOException {
        Job job = Job.getInstance(settings, program.getSimpleName());
        job.setJarByClass(program);
        return job;
    }

    /** Runs {@code job}; raises IOException when it fails, so that no step is built on a broken one. */
    static Job done(Job job) throws IOException, InterruptedException, ClassNotFoundException {
        if (!job.waitForCompletion(true)) {
            throw new IOException("job " + job.getJobID() + " (" + job.getJobName() + ") failed");
        }
        return job;
    }

    static long seed(Configuration settings) {
        return settings.getLong(SEED, 1);
    }

    /** Makes each task run once at a time: a second, concurrent attempt would write the same file. */
    static void withoutSpeculation(Job job) {
        job.getConfiguration().setBoolean(MRJobConfig.MAP_SPECULATIVE, false);
        job.getConfiguration().setBoolean(MRJobConfig.REDUCE_SPECULATIVE, false);
    }

    static void delete(Configuration settings, Path path) throws IOException {
        path.getFileSystem(settings).delete(path, true);
    }
}
