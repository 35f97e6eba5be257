package etcdserver

import (
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/kit/watch"
)

// For a key that a transaction deletes and puts again, only the watch's last change counts. Any other repeated
// delivery counts twice.
func TestFollow(t *testing.T) {
	gone := watch.Change{Revision: 5, Key: "a", Deleted: true}
	put := watch.Change{Revision: 5, Key: "a", Value: "1"}
	other := watch.Change{Revision: 5, Key: "b", Value: "1"}
	later := watch.Change{Revision: 6, Key: "a", Value: "1"}
	for _, c := range [][2][]watch.Change{
		{{gone, put}, {put}},
		{{gone, other, put}, {put, other}},
		{{put, put}, {put, put}},
		{{put, gone}, {put, gone}},
		{{gone, gone}, {gone, gone}},
		{{gone, later}, {gone, later}},
	} {
		var got []watch.Change
		for _, change := range c[0] {
			got = follow(got, change)
		}
		if !slices.Equal(got, c[1]) {
			t.Errorf("%v becomes %v, want %v", c[0], got, c[1])
		}
	}
}
