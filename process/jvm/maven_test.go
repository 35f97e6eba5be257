package jvm

import (
	"strings"
	"testing"
)

func TestPom(t *testing.T) {
	pom, err := pomOf([]string{"org.example:server:1.2", "g:a:v"})
	if err != nil || !strings.Contains(string(pom), "<groupId>org.example</groupId><artifactId>server</artifactId><version>1.2</version>") ||
		strings.Count(string(pom), "<dependency>") != 2 {
		t.Errorf("%s, %v", pom, err)
	}
	if pom, err := pomOf([]string{"g:a:v", "-org.example:bench", "h:b:w"}); err != nil ||
		strings.Count(string(pom), "<exclusion><groupId>org.example</groupId><artifactId>bench</artifactId></exclusion>") != 2 {
		t.Errorf("%s, %v", pom, err)
	}
	if pom, err := pomOf([]string{"g:a:v", "-*:*"}); err != nil || !strings.Contains(string(pom), "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>") {
		t.Errorf("%s, %v", pom, err)
	}
	for _, bad := range []string{"", "*:*:*", "-a*:b", "a:b", "a:b:c:d", "a::c", "a:b:<c>", "-a:b:c", "-a", "-a:"} {
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
