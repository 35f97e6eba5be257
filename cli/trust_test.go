package cli

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/etcd"
	"github.com/lockstep-go/lockstep/target/maelstrom"
)

// A marked option of a file is accepted if its value is known or the user allows it.
func TestAllow(t *testing.T) {
	for _, c := range []struct {
		target  target.Target
		options map[string]string
		allow   []string
		want    string // part of the error; empty: no error
	}{
		{etcd.Target, map[string]string{"version": "v3.6.16", "nodes": "3"}, nil, ""},
		{etcd.Target, map[string]string{"version": "v3.6.999"}, nil,
			"version=v3.6.999 names something to download and start, which a trace or plan must not choose: give --set " +
				"version=v3.6.999 to allow it"},
		{etcd.Target, map[string]string{"version": "v3.6.999"}, []string{"version=v3.6.999"}, ""},
		{
			etcd.Target,
			map[string]string{"version": "v3.6.999"},
			[]string{"version=v3.6.16"},
			"give --set version=v3.6.999",
		},
		{maelstrom.Target, map[string]string{"bin": "sh -c x"}, nil, "give --set 'bin=sh -c x' to allow it"},
		{maelstrom.Target, map[string]string{"bin": "./a"}, []string{"bin=./b", " bin = ./a "}, ""},
		{maelstrom.Target, map[string]string{"workload": "echo"}, nil, ""},
	} {
		err := Allow{Set: c.allow}.check(c.target, c.options)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v with %q: %v, want %q", c.options, c.allow, err, c.want)
		}
	}
}
