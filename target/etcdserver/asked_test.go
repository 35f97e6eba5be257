package etcdserver

import (
	"context"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A watch asks for its progress before the server has sent it earlier events. In releases with #15220 the server
// answers that the watch is up to date; in others it never does. The test runs an unmodified single-node server in
// real time without an engine.
func TestAskedTooEarly(t *testing.T) {
	client := plain(t)
	if _, err := client.Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	const watches = 20 // the server may be fast
	early := 0
	for range watches {
		if confirmsEarly(t, client) {
			early++
		}
	}
	if t.Log(Version(), early); (early > 0) != has15220(Version()) {
		t.Errorf("%d of %d watches confirmed progress before they delivered the event", early, watches)
	}
}

// confirmsEarly opens a watch from the first revision on and asks for its progress. It reports whether the progress
// names revision 2 before the watch delivers it.
func confirmsEarly(t *testing.T, client *clientv3.Client) bool {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	responses := client.Watch(ctx, "key", clientv3.WithRev(1))
	for {
		if err := client.RequestProgress(ctx); err != nil {
			t.Fatal(err)
		}
		r, more := <-responses
		switch {
		case !more || r.Err() != nil:
			t.Fatal(r.Err())
		case len(r.Events) > 0:
			return false
		case r.IsProgressNotify() && r.Header.Revision >= 2:
			return true
		}
	}
}

// older reports whether this is a release of 3.4: those that Go modules provide have their own version numbers.
var older = strings.HasPrefix(Version(), "v0.5.")

// has15220 reports whether a release has the bug: those of 3.4 that Go modules provide, and of 3.5 up to v3.5.7.
func has15220(version string) bool { return lineage(version) <= 7 }
