package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPom(t *testing.T) {
	pom, err := pomOf([]string{"org.example:server:1.2", "g:a:v"})
	if err != nil || !strings.Contains(string(pom), "<groupId>org.example</groupId><artifactId>server</artifactId><version>1.2</version>") ||
		strings.Count(string(pom), "<dependency>") != 2 {
		t.Errorf("%s, %v", pom, err)
	}
	pom, err = pomOf([]string{"org.example:server:1.2!", "g:a:v"})
	if err != nil || !strings.Contains(string(pom), "<version>1.2</version><exclusions>") || strings.Count(string(pom), "<exclusions>") != 1 {
		t.Errorf("%s, %v", pom, err)
	}
	for _, bad := range []string{"", "!", "a:b!", "a:b", "a:b:c:d", "a::c", "a:b:<c>"} {
		if _, err := pomOf([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// What Maven complains of is quoted, without its advice.
func TestComplaint(t *testing.T) {
	got := complaint([]byte("[INFO] x\n[ERROR] Could not find artifact a:b:jar:1 in central\n[ERROR] \n[ERROR] To see the full stack trace, re-run Maven with the -e switch.\n[ERROR] [Help 1] somewhere\n"))
	if got != "Could not find artifact a:b:jar:1 in central" {
		t.Errorf("%q", got)
	}
	if got := complaint([]byte(" nothing known \n")); got != "nothing known" {
		t.Errorf("%q", got)
	}
}

// What was made once is there; what failed leaves nothing.
func TestCached(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	made := 0
	fill := func(folder string) error {
		made++
		return os.WriteFile(filepath.Join(folder, "file"), nil, 0o644)
	}
	folder, err := Cached("thing", func(string) error { return errors.New("no") })
	if err == nil || folder != "" {
		t.Errorf("%q, %v", folder, err)
	}
	for range 2 {
		if folder, err = Cached("thing", fill); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(folder, "file")); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(folder))
	if err != nil || len(left) != 1 || made != 1 {
		t.Errorf("made %d times, %v, %v", made, left, err)
	}
}
