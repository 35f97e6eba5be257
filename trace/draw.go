package trace

import (
	"encoding/json"
	"fmt"
	"math"
)

// Draw is a number that the system drew itself. If nodes draw concurrently, in no fixed order, a draw belongs to a
// node: then the order counts only among draws of the same node.
type Draw struct {
	By Node // 0 if the order of all draws counts
	N  uint64
	// Goroutine names the goroutine about whose preemption the number decides; 0 is no preemption then. The order counts
	// among draws about the same goroutine. Other draws have no such name.
	Goroutine uint32
}

// Drew makes draws without a node.
func Drew(numbers ...uint64) []Draw {
	var list []Draw
	for _, n := range numbers {
		list = append(list, Draw{N: n})
	}
	return list
}

// MarshalJSON writes a number, a pair of node and number, or these and the goroutine.
func (d Draw) MarshalJSON() ([]byte, error) {
	if d.Goroutine != 0 {
		return fmt.Appendf(nil, "[%d,%d,%d]", d.By, d.N, d.Goroutine), nil
	}
	if d.By == 0 {
		return fmt.Append(nil, d.N), nil
	}
	return fmt.Appendf(nil, "[%d,%d]", d.By, d.N), nil
}

// UnmarshalJSON reads all forms.
func (d *Draw) UnmarshalJSON(text []byte) error {
	*d = Draw{}
	if err := json.Unmarshal(text, &d.N); err == nil {
		return nil
	}
	var list []uint64
	switch err := json.Unmarshal(text, &list); {
	case err == nil && len(list) == 2 && list[0] >= 1 && list[0] <= MaxNodes:
	case err == nil && len(list) == 3 && list[0] <= MaxNodes && list[2] >= 1 && list[2] <= math.MaxUint32:
		d.Goroutine = uint32(list[2])
	default:
		return fmt.Errorf("a draw is %s, allowed are a number, a pair of node and number, and these with a goroutine",
			text)
	}
	d.By, d.N = Node(list[0]), list[1]
	return nil
}
