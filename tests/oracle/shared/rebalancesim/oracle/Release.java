package rebalancesim.oracle;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The Kafka release that answers, as its own jar names it. */
final class Release {
    /** The first two numbers, as "4.3". */
    static final String VERSION = written().replaceFirst("(\\d+\\.\\d+).*", "$1");

    private Release() {
    }

    static boolean isBefore(int major, int minor) {
        String[] numbers = VERSION.split("\\.");
        int ownMajor = Integer.parseInt(numbers[0]);
        return ownMajor < major || ownMajor == major && Integer.parseInt(numbers[1]) < minor;
    }

    /** From the file that AppInfoParser reads: that class has another package since 4.4. */
    private static String written() {
        Properties properties = new Properties();
        try (InputStream file = Release.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            properties.load(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties.getProperty("version").trim();
    }
}
