package rebalancesim.yarn;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * Runs HDFS and YARN with one node on 127.0.0.1 until standard input ends.
 *
 * <p>The first argument is a folder for their data. They are ready when its {@code conf} exists, which is
 * what {@code HADOOP_CONF_DIR} names for Spark.
 */
public final class Cluster {
    private static final String ANY_PORT = "127.0.0.1:0";

    public static void main(String[] args) {
        int exitCode = 0;
        try {
            run(Path.of(args[0]));
        } catch (Throwable failure) {
            failure.printStackTrace();
            exitCode = 1;
        }
        // Hadoop's own threads would keep the process alive.
        System.exit(exitCode);
    }

    private static void run(Path folder) throws Exception {
        Configuration configuration = new YarnConfiguration();
        configuration.set("hadoop.tmp.dir", folder.resolve("tmp").toString());
        try (MiniDFSCluster files = startFiles(configuration, folder);
                MiniYARNCluster yarn = startYarn(configuration)) {
            writeConfiguration(yarn.getConfig(), folder);
            while (System.in.read() >= 0) {
                // The test that started this process keeps its input open.
            }
        }
    }

    private static MiniDFSCluster startFiles(Configuration configuration, Path folder) throws IOException {
        MiniDFSCluster files = new MiniDFSCluster.Builder(configuration, folder.resolve("hdfs").toFile())
            .numDataNodes(1)
            .build();
        files.waitActive();
        return files;
    }

    private static MiniYARNCluster startYarn(Configuration configuration) throws Exception {
        // Without this, the servers would listen on the address of the machine's host name.
        configuration.setBoolean(YarnConfiguration.YARN_MINICLUSTER_FIXED_PORTS, true);
        for (String key : YarnConfiguration.getServiceAddressConfKeys(configuration)) {
            configuration.set(key, ANY_PORT);
        }
        configuration.set(YarnConfiguration.NM_ADDRESS, ANY_PORT);
        configuration.set(YarnConfiguration.NM_LOCALIZER_ADDRESS, ANY_PORT);
        configuration.set(YarnConfiguration.NM_WEBAPP_ADDRESS, ANY_PORT);
        configuration.set("yarn.scheduler.capacity.root.queues", "default");
        configuration.set("yarn.scheduler.capacity.root.default.capacity", "100");
        configuration.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1");
        // Enough for a driver and an executor with the 2 GB of overhead that docs/clusters.md sets.
        configuration.setInt(YarnConfiguration.YARN_MINICLUSTER_NM_PMEM_MB, 8192);
        // A driver that fails is not started again.
        configuration.setInt(YarnConfiguration.RM_AM_MAX_ATTEMPTS, 1);
        configuration.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 128);
        // The disk of a test machine may well be over 90 % full, above which a node does not use its folders.
        configuration.setFloat(YarnConfiguration.NM_MAX_PER_DISK_UTILIZATION_PERCENTAGE, 100);
        MiniYARNCluster yarn = new MiniYARNCluster("yarn", 1, 1, 1);
        yarn.init(configuration);
        yarn.start();
        if (!yarn.waitForNodeManagersToConnect(60_000)) {
            throw new IOException("the node manager does not connect");
        }
        return yarn;
    }

    /** Writes what clients need. The servers' own settings name classes that clients do not have. */
    private static void writeConfiguration(Configuration configuration, Path folder) throws IOException {
        Configuration ofClients = new Configuration(false);
        ofClients.setInt("dfs.replication", 1);
        for (String key : new String[] {
            "fs.defaultFS",
            YarnConfiguration.RM_ADDRESS,
            YarnConfiguration.RM_SCHEDULER_ADDRESS,
            YarnConfiguration.RM_WEBAPP_ADDRESS,
        }) {
            ofClients.set(key, configuration.get(key));
        }
        Path unfinished = Files.createDirectory(folder.resolve("conf-unfinished"));
        for (String name : new String[] {"core-site.xml", "yarn-site.xml"}) {
            try (OutputStream file = Files.newOutputStream(unfinished.resolve(name))) {
                ofClients.writeXml(file);
            }
        }
        Files.move(unfinished, folder.resolve("conf"));
    }
}
