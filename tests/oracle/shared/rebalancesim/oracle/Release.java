package rebalancesim.oracle;

import org.apache.kafka.common.utils.AppInfoParser;

/** The Kafka release that this module is compiled against, as its own jar names it. */
final class Release {
    /** The first two numbers, as "4.3". */
    static final String VERSION = AppInfoParser.getVersion().replaceFirst("(\\d+\\.\\d+).*", "$1");

    private Release() {
    }
}
