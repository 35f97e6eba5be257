package jvm_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/process/jvm"
)

// fakeMaven puts a mvn that fetches two jars into the PATH.
func fakeMaven(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	script := `#!/bin/sh
for word; do case "$word" in -DoutputDirectory=*) out=${word#-DoutputDirectory=};; esac; done
printf server > "$out/server-1.0.jar"
printf library > "$out/library-2.0.jar"
`
	if err := os.WriteFile(filepath.Join(dir, "mvn"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// line pins a jar by its content.
func line(name, content string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name)
}

// Jars are used only if they have the SHA-256 in their target's list: both after a fetch and from the cache.
func TestPinnedJars(t *testing.T) {
	fakeMaven(t)
	server, library := line("server-1.0.jar", "server"), line("library-2.0.jar", "library")
	cached := filepath.Join(os.Getenv("XDG_CACHE_HOME"), "lockstep", "servers", "jars-*")
	for name, c := range map[string]struct{ sums, want string }{
		"changed": {line("server-1.0.jar", "evil") + library, "server-1.0.jar has the SHA-256 " + server[:64]},
		"not listed": {
			server,
			"1 jar was not pinned: the jars.sha256 of the target has no SHA-256 for library-2.0.jar,",
		},
		"no list": {"", "2 jars were not pinned: the jars.sha256 of the target has no SHA-256 for library-2.0.jar, " +
			"server-1.0.jar,"},
		"no sum":   {server + "library-2.0.jar\n", "line 2 of the SHA-256 sums"},
		"path":     {server + library[:66] + "../library-2.0.jar\n", "line 2 of the SHA-256 sums"},
		"two sums": {server + line("server-1.0.jar", "evil"), "a second sum for server-1.0.jar"},
	} {
		if jars, err := jvm.Jars(t.Context(), c.sums, "org.example:server:1.0"); err == nil ||
			!strings.Contains(err.Error(), c.want) ||
			jars != nil {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if left, err := filepath.Glob(cached); err != nil || len(left) != 0 {
			t.Errorf("%s: the cache has %v, %v", name, left, err)
		}
	}
	jars, err := jvm.Jars(t.Context(), server+library, "org.example:server:1.0")
	if err != nil || len(jars) != 2 {
		t.Fatalf("%v, %v", jars, err)
	}
	if err := os.WriteFile(jars[1], []byte("evil"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := jvm.Jars(t.Context(), server+library, "org.example:server:1.0"); err == nil ||
		!strings.Contains(err.Error(), filepath.Base(jars[1])+" has the SHA-256") {
		t.Errorf("a jar that was changed in the cache: %v", err)
	}
	if err := os.RemoveAll(filepath.Dir(jars[0])); err != nil {
		t.Fatal(err)
	}
	lines, err := jvm.Sums(t.Context(), "org.example:server:1.0")
	if err != nil || strings.Join(lines, "\n")+"\n" != library+server {
		t.Errorf("%q, %v", lines, err)
	}
}
