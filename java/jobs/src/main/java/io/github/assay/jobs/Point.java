package io.github.assay.jobs;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.io.Writable;

/** A point by its coordinates. */
public final class Point implements Writable {
    private double[] coordinates = new double[0];

    /** For Hadoop, which fills the point by {@link #readFields}. */
    public Point() {
    }

    void set(double[] newCoordinates) {
        coordinates = newCoordinates;
    }

    /** Returns the coordinates. */
    public double[] coordinates() {
        return coordinates;
    }

    @Override
    public void write(DataOutput out) throws IOException {
        out.writeInt(coordinates.length);
        for (double coordinate : coordinates) {
            out.writeDouble(coordinate);
        }
    }

    @Override
    public void readFields(DataInput in) throws IOException {
        int dimensions = in.readInt();
        coordinates = coordinates.length == dimensions ? coordinates : new double[dimensions];
        for (int dimension = 0; dimension < dimensions; dimension++) {
            coordinates[dimension] = in.readDouble();
        }
    }
}
