package jvm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPom(t *testing.T) {
	pom, err := pomOf([]string{"org.example:server:1.2", "g:a:v"})
	if err != nil ||
		!strings.Contains(string(pom),
			"<groupId>org.example</groupId><artifactId>server</artifactId><version>1.2</version>") ||
		strings.Count(string(pom), "<dependency>") != 2 {
		t.Errorf("%s, %v", pom, err)
	}
	if pom, err := pomOf([]string{"g:a:v", "-org.example:bench", "h:b:w"}); err != nil ||
		strings.Count(string(pom),
			"<exclusion><groupId>org.example</groupId><artifactId>bench</artifactId></exclusion>") != 2 {
		t.Errorf("%s, %v", pom, err)
	}
	if pom, err := pomOf([]string{"g:a:v", "-*:*"}); err != nil ||
		!strings.Contains(string(pom), "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>") {
		t.Errorf("%s, %v", pom, err)
	}
	for _, bad := range []string{"", "*:*:*", "-a*:b", "a:b", "a:b:c:d", "a::c", "a:b:<c>", "-a:b:c", "-a", "-a:"} {
		if _, err := pomOf([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Maven's error message is quoted, without its hints.
func TestComplaint(t *testing.T) {
	got := complaint(
		[]byte(
			"[INFO] x\n\x1b[0m\x1b[0m[ERROR] Could not find artifact a:b:jar:1 in central\n[ERROR] \n[ERROR] To see the full " +
				"stack trace, re-run Maven with the -e switch.\n[ERROR] \n[ERROR] For more information about the errors, " +
				"read:\n[ERROR] [Help 1] somewhere\n",
		),
	)
	if got != "Could not find artifact a:b:jar:1 in central" {
		t.Errorf("%q", got)
	}
	if got := complaint([]byte(" nothing known \n")); got != "nothing known" {
		t.Errorf("%q", got)
	}
}

// The targets' checksum lists are valid, and contain the jars of all versions that the targets offer.
func TestTargetsArePinned(t *testing.T) {
	for target, jars := range map[string][]string{
		"zookeeper": {"zookeeper-3.4.9.jar", "zookeeper-3.5.8.jar", "zookeeper-3.9.5.jar"},
		"kafka":     {"kafka_2.13-3.9.2.jar", "kafka_2.13-4.3.1.jar"},
		"cassandra": {
			"cassandra-all-2.0.0.jar",
			"cassandra-all-2.0.17.jar",
			"cassandra-all-4.1.9.jar",
			"cassandra-all-5.0.5.jar",
			"byte-buddy-1.18.16.jar",
		},
		"ratis":    {"ratis-examples-1.0.0.jar", "ratis-examples-3.3.0.jar"},
		"bftsmart": {"bft-smart-0.0.8.RELEASE.jar", "byte-buddy-1.18.16.jar"},
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "target", target, "jars.sha256"))
		if err != nil {
			t.Fatal(err)
		}
		pinned, err := readSums(string(text))
		if err != nil {
			t.Errorf("%s: %v", target, err)
		}
		for _, jar := range jars {
			if pinned[jar] == "" {
				t.Errorf("%s: %s is not pinned", target, jar)
			}
		}
	}
}
