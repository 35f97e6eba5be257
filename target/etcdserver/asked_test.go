package etcdserver

import (
	"context"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// A watch that asks how far it is, before the server has told it of what happened earlier, is told that it knows all in releases that have
// #15220, and in others never. Here is a server as it is, by itself, in real time and without any engine.
func TestAskedTooEarly(t *testing.T) {
	client := plain(t)
	if _, err := client.Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	const watches = 20 // the server may be quick
	early := 0
	for range watches {
		if tellsEarly(t, client) {
			early++
		}
	}
	if t.Log(Version(), early); (early > 0) != has15220(Version()) {
		t.Errorf("%d of %d watches told that all was told when it was not", early, watches)
	}
}

// tellsEarly opens a watch from the first revision on, asks how far it is, and reports whether it says revision 2 before it tells of it.
func tellsEarly(t *testing.T, client *clientv3.Client) bool {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	told := client.Watch(ctx, "key", clientv3.WithRev(1))
	for {
		if err := client.RequestProgress(ctx); err != nil {
			t.Fatal(err)
		}
		r, more := <-told
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

// older says that this is a release of 3.4: those that can be had have versions of their own.
var older = strings.HasPrefix(Version(), "v0.5.")

// has15220 reports whether a release has the mistake: those of 3.4 that can be had, and of 3.5 up to v3.5.7.
func has15220(version string) bool { return lineage(version) <= 7 }
