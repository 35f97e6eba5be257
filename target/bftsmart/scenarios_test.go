package bftsmart_test

import (
	"flag"
	"testing"

	"github.com/lockstep-go/lockstep/internal/testkit/outside"
	"github.com/lockstep-go/lockstep/target/bftsmart"
)

var seed = flag.Uint64("seed", 1, "seed of the runs")

// A scenario of the paper succeeds with interception by the agent. "lockstep paper bftsmart" measures all of them.
func TestScenarios(t *testing.T) {
	outside.JVM(t)
	table, err := bftsmart.Table.Find("DropWriteForP")
	if err != nil {
		t.Fatal(err)
	}
	plan := table.Plan(table.Cases[0].Build(true).MustSucceed(), 1, *seed)
	if result := explore(t, plan); result.First() != nil || len(result.IdleParts()) > 0 {
		t.Errorf("%+v; no effect: %v", result.First(), result.IdleParts())
	}
}

// The table has the sizes of the paper's tests and of ours.
func TestTable(t *testing.T) {
	if n := len(bftsmart.Table.Cases); n != 8 {
		t.Errorf("%d scenarios", n)
	}
	if _, err := bftsmart.Table.Find("DropWrites"); err == nil {
		t.Error("an unknown scenario is found")
	}
}
