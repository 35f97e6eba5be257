package maelstrom

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// models are the sequential systems of the workloads that must be linearizable.
var models = map[string]porcupine.Model{
	"lin-kv": {
		Init: func() any { return absent }, Step: stepKV, Partition: byKey,
		DescribeOperation: describe, DescribeState: func(s any) string { return s.(string) },
	},
	"txn-list-append": {
		Init: func() any { return "" }, Step: stepTxn,
		DescribeOperation: describe, DescribeState: func(s any) string { return s.(string) },
	},
}

// absent is the state of a key that was never written.
const absent = "-"

func describe(input, output any) string {
	return fmt.Sprintf("%v: %v", input, output)
}

// byKey splits a history into those of the keys.
func byKey(ops []porcupine.Operation) [][]porcupine.Operation {
	var parts [][]porcupine.Operation
	index := map[int]int{}
	for _, o := range ops {
		key := o.Input.(*Op).Key
		i, ok := index[key]
		if !ok {
			i = len(parts)
			index[key], parts = i, append(parts, nil)
		}
		parts[i] = append(parts[i], o)
	}
	return parts
}

// stepKV is one key of a map, whose state is its value as text.
func stepKV(state, input, output any) (bool, any) {
	op := input.(*Op)
	answer, answered := output.(Answer)
	if answered && answer.failed() {
		switch answer.code {
		case codeNoKey:
			return state == absent, state
		case codePrecondition:
			return state != absent && state != strconv.Itoa(op.From), state
		}
		return true, state
	}
	switch op.Kind {
	case "read":
		if !answered {
			return true, state
		}
		var value int
		return answer.get("value", &value) == nil && strconv.Itoa(value) == state, state
	case "write":
		return true, strconv.Itoa(op.Value)
	default: // cas
		if state == strconv.Itoa(op.From) {
			return true, strconv.Itoa(op.Value)
		}
		return !answered, state // an unanswered operation may have failed
	}
}

// stepTxn applies a transaction to lists. The state is "key:value,value;..." in the order of keys.
func stepTxn(state, input, output any) (bool, any) {
	op := input.(*Op)
	answer, answered := output.(Answer)
	if answered && answer.failed() {
		return true, state
	}
	lists := parseLists(state.(string))
	var results [][]json.RawMessage
	if answered && (answer.get("txn", &results) != nil || len(results) != len(op.Txn)) {
		return false, state
	}
	for i, m := range op.Txn {
		if m.Append {
			lists[m.Key] = append(slices.Clone(lists[m.Key]), m.Value)
		} else if answered && !reads(results[i], lists[m.Key]) {
			return false, state
		}
	}
	return true, writeLists(lists)
}

// reads reports whether a read returned a list; for a list without appends, it may return that there is none.
func reads(result []json.RawMessage, want []int) bool {
	var got []int
	if len(result) != 3 || json.Unmarshal(result[2], &got) != nil {
		return false
	}
	return slices.Equal(got, want)
}

func parseLists(state string) map[int][]int {
	lists := map[int][]int{}
	for part := range strings.SplitSeq(state, ";") {
		key, values, ok := strings.Cut(part, ":")
		if !ok {
			continue
		}
		k, _ := strconv.Atoi(key)
		for v := range strings.SplitSeq(values, ",") {
			n, _ := strconv.Atoi(v)
			lists[k] = append(lists[k], n)
		}
	}
	return lists
}

func writeLists(lists map[int][]int) string {
	var parts []string
	for key, values := range lists {
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = strconv.Itoa(v)
		}
		parts = append(parts, fmt.Sprintf("%d:%s", key, strings.Join(words, ",")))
	}
	slices.Sort(parts)
	return strings.Join(parts, ";")
}
