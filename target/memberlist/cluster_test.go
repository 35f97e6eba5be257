package memberlist

import "testing"

// The check names options that are out of range, and the header of traces has the options that are not the default.
func TestOptions(t *testing.T) {
	for want, c := range map[string]Cluster{
		"memberlist: nodes is 10, allowed are 2..9":  {Nodes: 10},
		"memberlist: split is 1.5, allowed are 0..1": {Split: 1.5},
	} {
		if _, err := c.Describe(); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
	if options := (Cluster{Nodes: 3, NoRejoin: true}).bubble().Options; len(options) != 2 || options["nodes"] != "3" ||
		options["no-rejoin"] != "true" {
		t.Errorf("the options are %v", options)
	}
	if nodes := (Cluster{}).bubble().Nodes; nodes != 5 {
		t.Errorf("%d nodes where none are named", nodes)
	}
}
