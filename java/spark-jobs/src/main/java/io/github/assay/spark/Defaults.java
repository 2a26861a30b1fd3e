package io.github.assay.spark;

import java.util.TreeMap;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.internal.config.ConfigEntry$;

/** Prints what a Spark takes where nothing is said, a line {@code NAME=VALUE} each: it differs between versions. */
public final class Defaults {
    private static final String[] DECLARING = {
        "org.apache.spark.internal.config.package$",
        "org.apache.spark.sql.internal.SQLConf$",
        "org.apache.spark.sql.internal.StaticSQLConf$",
        "org.apache.spark.deploy.yarn.config.package$",
        "org.apache.spark.deploy.yarn.config$",
    };

    private Defaults() {
    }

    public static void main(String[] arguments) {
        for (String name : DECLARING) {
            try {
                Class.forName(name);
            } catch (ClassNotFoundException absent) {
                continue; // it is called otherwise in this version
            }
        }
        TreeMap<String, String> known = new TreeMap<>();
        for (ConfigEntry<?> entry : ConfigEntry$.MODULE$.knownConfigs().values()) {
            String value = entry.defaultValueString();
            if (!value.startsWith("<") && value.indexOf('\n') < 0) {
                known.put(entry.key(), value);
            }
        }
        known.forEach((name, value) -> System.out.println(name + "=" + value));
    }
}
