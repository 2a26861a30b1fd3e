package io.github.assay.spark;

import java.io.IOException;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;

/** Keys and values written one behind the other, with nothing between them. */
public final class RowOutput extends FileOutputFormat<BytesWritable, BytesWritable> {
    @Override
    public RecordWriter<BytesWritable, BytesWritable> getRecordWriter(TaskAttemptContext context) throws IOException {
        Path path = getDefaultWorkFile(context, "");
        FSDataOutputStream out = path.getFileSystem(context.getConfiguration()).create(path, false);
        return new RecordWriter<>() {
            @Override
            public void write(BytesWritable key, BytesWritable value) throws IOException {
                out.write(key.getBytes(), 0, key.getLength());
                out.write(value.getBytes(), 0, value.getLength());
            }

            @Override
            public void close(TaskAttemptContext ended) throws IOException {
                out.close();
            }
        };
    }
}
