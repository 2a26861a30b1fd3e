package io.github.assay.jobs;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/** Runs jobs in this process, by Hadoop's LocalJobRunner, below a temporary folder, and reads what they left. */
final class Local {
    private final java.nio.file.Path folder;

    Local(java.nio.file.Path folder) {
        this.folder = folder;
    }

    Configuration settings(Map<String, String> options) {
        Configuration settings = new JobConf();
        settings.set("fs.defaultFS", "file:///");
        settings.set("mapreduce.framework.name", "local");
        settings.set("hadoop.tmp.dir", folder.resolve("scratch").toString());
        settings.set("mapreduce.jobtracker.staging.root.dir", folder.resolve("staging").toString());
        settings.set("mapreduce.task.io.sort.mb", "10");
        settings.set("mapreduce.job.reduces", "2");
        options.forEach(settings::set);
        return settings;
    }

    int run(Tool tool, Map<String, String> options, String... arguments) throws Exception {
        return ToolRunner.run(settings(options), tool, arguments);
    }

    String at(String name) {
        return folder.resolve(name).toString();
    }

    /** Returns the lines of all parts below a folder, in the order of the parts. */
    List<String> lines(String name) throws IOException {
        List<String> lines = new ArrayList<>();
        for (java.nio.file.Path part : parts(name)) {
            lines.addAll(Files.readAllLines(part, StandardCharsets.UTF_8));
        }
        return lines;
    }

    /** Calls {@code action} with each record of the sequence files below a folder. */
    <V extends Writable> void records(String name, V value, BiConsumer<Long, V> action) throws IOException {
        LongWritable key = new LongWritable();
        for (java.nio.file.Path part : parts(name)) {
            Path path = new Path(part.toUri());
            try (SequenceFile.Reader in = new SequenceFile.Reader(settings(Map.of()), SequenceFile.Reader.file(path))) {
                while (in.next(key, value)) {
                    action.accept(key.get(), value);
                }
            }
        }
    }

    Map<Long, Double> ranks(String name) throws IOException {
        Map<Long, Double> ranks = new TreeMap<>();
        records(name, new Page(), (id, page) -> ranks.put(id, page.rank()));
        return ranks;
    }

    Map<Long, long[]> links(String name) throws IOException {
        Map<Long, long[]> links = new TreeMap<>();
        records(name, new Page(), (id, page) -> links.put(id, page.links()));
        return links;
    }

    private List<java.nio.file.Path> parts(String name) throws IOException {
        try (Stream<java.nio.file.Path> files = Files.walk(folder.resolve(name))) {
            return files.filter(file -> file.getFileName().toString().startsWith("part-")).sorted()
                    .collect(Collectors.toList());
        }
    }
}
