package trace_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/trace"
)

func ExampleDrew() {
	// The action's draws for a replay of the step. The second action has only draws.
	a := trace.Action{Step: trace.Step{Kind: trace.Crash, Node: 2}, Draws: trace.Drew(3, 0)}
	text, err := json.Marshal(append(a.Draws, trace.Draw{By: 2, N: 7}))
	fmt.Println(string(text), err)
	// Output: [3,0,[2,7]] <nil>
}

func TestDrawsThatAreNone(t *testing.T) {
	for _, text := range []string{`-1`, `"1"`, `[]`, `[1]`, `[0,1]`, `[65,1]`, `[1,2,3]`, `[1,-2]`, `{}`, `1.5`} {
		var d trace.Draw
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s was read as %v", text, d)
		}
	}
	var d trace.Draw
	if err := json.Unmarshal([]byte(`null`), &d); err != nil || d != (trace.Draw{}) {
		t.Errorf("null was read as %v, %v", d, err)
	}
}
