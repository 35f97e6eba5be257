package trace

import (
	"encoding/json"
	"fmt"
)

// Draw is a number that the system drew itself. If nodes draw concurrently, in no fixed order, a draw belongs to a
// node: then the order counts only among draws of the same node.
type Draw struct {
	By Node // 0 if the order of all draws counts
	N  uint64
}

// Drew makes draws without a node.
func Drew(numbers ...uint64) []Draw {
	var list []Draw
	for _, n := range numbers {
		list = append(list, Draw{N: n})
	}
	return list
}

// MarshalJSON writes a number, or a pair of node and number.
func (d Draw) MarshalJSON() ([]byte, error) {
	if d.By == 0 {
		return fmt.Append(nil, d.N), nil
	}
	return fmt.Appendf(nil, "[%d,%d]", d.By, d.N), nil
}

// UnmarshalJSON reads both forms.
func (d *Draw) UnmarshalJSON(text []byte) error {
	*d = Draw{}
	if err := json.Unmarshal(text, &d.N); err == nil {
		return nil
	}
	var pair []uint64
	if err := json.Unmarshal(text, &pair); err != nil || len(pair) != 2 || pair[0] < 1 || pair[0] > MaxNodes {
		return fmt.Errorf("a draw is %s, allowed are a number and a pair of node and number", text)
	}
	d.By, d.N = Node(pair[0]), pair[1]
	return nil
}
