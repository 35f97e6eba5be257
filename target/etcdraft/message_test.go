package etcdraft_test

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/scenario"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft"
)

// Filters refer to the fields of a message: here the first request for a vote is lost, and two messages with entries.
func ExampleMessage() {
	sc := scenario.New("fields").Faults(lockstep.Budget{Losses: lockstep.Unlimited})
	sc.If(scenario.IsSend(), scenario.Type("MsgVote"), scenario.Body("with a term",
		func(m etcdraft.Message) bool { return m.Term > 0 && !m.Reject })).
		Named("a first vote").Once().Then(scenario.Drop())
	sc.If(scenario.IsSend(), scenario.Body("with entries",
		func(m etcdraft.Message) bool { return len(m.Entries) > 0 && m.Index >= m.Commit })).
		Named("entries").First(2).Then(scenario.Drop())
	result, err := lockstep.Explore(context.Background(), lockstep.Plan{System: etcdraft.Cluster{Nodes: 3}, Scenario: sc,
		Strategy: strategy.PCTCP{Depth: 6, Events: 300, Fair: true, Steps: 1000}, Runs: 5, Seed: 1})
	fmt.Println(result.VacuousParts(), err)
	// Output:
	// [] <nil>
}

// The comment of Message names all of its fields, which are in an internal package.
func TestMessageFields(t *testing.T) {
	text, err := os.ReadFile("event.go")
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`(?s)// Message is the content.*?type Message`).FindString(string(text))
	words := regexp.MustCompile(`\w+`).FindAllString(comment, -1)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[etcdraft.Message]()) {
		if !slices.Contains(words, f.Name) {
			t.Errorf("the comment does not name the field %s", f.Name)
		}
	}
}
