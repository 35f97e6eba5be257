package trace_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/trace"
)

func ExampleDrew() {
	// The action's draws for a replay of the step. The second action has only draws.
	a := trace.Action{Step: trace.Step{Kind: trace.Crash, Node: 2}, Draws: trace.Drew(3, 0)}
	text, err := json.Marshal(append(a.Draws, trace.Draw{By: 2, N: 7}, trace.Draw{N: 5, Goroutine: 1234}))
	fmt.Println(string(text), err)
	// Output: [3,0,[2,7],[0,5,1234]] <nil>
}

func TestDrawsThatAreNone(t *testing.T) {
	for _, text := range []string{`-1`, `"1"`, `[]`, `[1]`, `[0,1]`, `[65,1]`, `[1,2,0]`, `[65,2,3]`,
		`[0,2,4294967296]`, `[0,1,2,3]`, `[1,-2]`, `{}`, `1.5`} {
		var d trace.Draw
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s was read as %v", text, d)
		}
	}
	for _, want := range []trace.Draw{
		{N: 1 << 63}, {By: 64, N: 2}, {N: 3, Goroutine: 1<<32 - 1}, {By: 1, N: 2, Goroutine: 3},
	} {
		text, err := json.Marshal(want)
		var d trace.Draw
		if err = errors.Join(err, json.Unmarshal(text, &d)); err != nil || d != want {
			t.Errorf("%v is written as %s and read as %v, %v", want, text, d, err)
		}
	}
	var d trace.Draw
	if err := json.Unmarshal([]byte(`null`), &d); err != nil || d != (trace.Draw{}) {
		t.Errorf("null was read as %v, %v", d, err)
	}
}
