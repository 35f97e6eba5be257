package cassandra

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep/process/jvm"
)

// modern reports whether the version is 4 or later. Its protocol between servers is not decoded here. Its settings have
// other names, which are final since 4.1.
func (c Cluster) modern() bool {
	major, _, _ := strings.Cut(c.Version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 4
}

// modernFlags returns the JVM flags of 4.0 and later, which open what Java 17 closed. The delay is how long a server
// looks for the first one before it gives up. Servers start together, and on a loaded machine one is ready long before
// another.
func modernFlags(java *jvm.JVM) []string {
	flags := []string{
		"-Xms192m",
		"-Xmx384m",
		"-XX:MaxDirectMemorySize=128m",
		"-Dlogback.configurationFile=logback.xml",
		"-Dcassandra.storagedir=.",
		"-Dcassandra.logdir=.",
		"-Dcassandra.ring_delay_ms=60000",
		"-Dcassandra.superuser_setup_delay_ms=-1",
		"-Djava.security.manager=allow",
		"-Djdk.attach.allowAttachSelf=true",
		"-Dio.netty.tryReflectionSetAccessible=true",
	}
	if i := slices.IndexFunc(java.Classes,
		func(jar string) bool { return strings.HasPrefix(filepath.Base(jar), "jamm-") }); i >= 0 {
		flags = append(flags, "-javaagent:"+java.Classes[i]) // it measures memory
	}
	return slices.Concat(
		flags,
		opened("opens", "java.base", "java.lang", "java.lang.module", "java.lang.reflect", "java.io", "java.nio",
			"java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.net", "sun.nio.ch",
			"jdk.internal.loader", "jdk.internal.ref", "jdk.internal.reflect", "jdk.internal.math",
			"jdk.internal.module", "jdk.internal.util.jar"),
		opened("opens", "jdk.management", "com.sun.management.internal"),
		opened("opens", "jdk.compiler", "com.sun.tools.javac"),
		opened("exports", "java.base", "jdk.internal.misc", "jdk.internal.ref", "sun.nio.ch"),
		opened("exports", "java.management.rmi", "com.sun.jmx.remote.internal.rmi"),
		opened("exports", "java.rmi", "sun.rmi.registry", "sun.rmi.server"),
		opened("exports", "jdk.compiler", "com.sun.tools.javac.file"),
		opened("exports", "jdk.attach", "sun.tools.attach"),
	)
}

// modern are the settings of nodes of 4.1 and later: numbers have units.
const modern = `commitlog_sync_period: 10000ms
commitlog_segment_size: 8MiB
commitlog_total_space: 64MiB
hints_directory: hints
memtable_heap_space: 32MiB
memtable_offheap_space: 32MiB
file_cache_size: 32MiB
networking_cache_size: 16MiB
key_cache_size: 1MiB
counter_cache_size: 1MiB
`

// The log goes to the standard output.
const logback = `<configuration>
<appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%p %c{0}: %m%n</pattern></encoder></appender>
<logger name="org.apache.cassandra.gms.Gossiper" level="INFO"/>
<root level="WARN"><appender-ref ref="out"/></root>
</configuration>
`
