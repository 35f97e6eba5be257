package processor_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/internal/processor"
)

// A process that is started on one processor may run only there, and the restriction ends afterwards.
func TestOnly(t *testing.T) {
	allowed := func() string {
		out, err := exec.Command("grep", "Cpus_allowed_list", "/proc/self/status").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(strings.TrimPrefix(string(out), "Cpus_allowed_list:"))
	}
	before := allowed()
	for number := range 3 {
		processor.Only(number, func() {
			if one := allowed(); strings.ContainsAny(one, ",-") {
				t.Errorf("a process on processor %d may run on %s", number, one)
			}
		})
	}
	if after := allowed(); after != before {
		t.Errorf("%s before, %s after", before, after)
	}
}
