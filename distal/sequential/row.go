package sequential

import (
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/distal/core"
	"github.com/lockstep-go/lockstep/distal/machine"
)

// Row is one round of a run: what each node did in it.
type Row struct {
	Tag   machine.Tag
	Nodes []Cell
}

// Cell is one node's part in a round.
type Cell struct {
	Begun    *machine.State  // once it has sent
	Out      []machine.Send  // what it sent
	Received uint64          // the senders of the messages that the node received and used
	Began    *core.Action    // the plain timeout that fired as the round began; nil when none did
	Rule     *core.Action    // the rule that fired; nil when none did
	Outputs  []machine.Value // what it output
	State    *machine.State  // at the end of the round
}

// Text writes rows for people, a line for each thing that happens:
//
//	phase 1, round Prepare
//	  1 sends Prepare(1) to 1 2 3
//	  2 hears 1: upon Prepare
//	    ballot=1 last=0 log=[] promised=false
//
// Rounds in which nothing is sent and no node acts are left out.
func (m *Model) Text(rows []Row) string {
	var b strings.Builder
	for _, row := range rows {
		text := m.rowText(row)
		if text != "" {
			fmt.Fprintf(&b, "phase %d, round %s\n%s", row.Tag.Phase, m.Program.Round(row.Tag), text)
		}
	}
	return b.String()
}

func (m *Model) rowText(row Row) string {
	var b strings.Builder
	for i, c := range row.Nodes {
		for _, s := range c.Out {
			why := ""
			if c.Began != nil {
				why = " (timeout)"
			}
			fmt.Fprintf(&b, "  %d sends %s to%s%s\n", i+1, m.Program.FormatMessage(machine.Message{Type: s.Type,
				Fields: s.Fields}), or(nodes(s.To), " no node"), why)
		}
	}
	for i, c := range row.Nodes {
		if c.Rule == nil {
			continue
		}
		heard := or(nodes(c.Received), " no node")
		fmt.Fprintf(&b, "  %d hears%s: %s\n    %s\n", i+1, heard, m.Label(c.Rule), m.Program.FormatState(c.State))
	}
	return b.String()
}

// nodes lists the nodes of a mask, each after a space.
func nodes(mask uint64) string {
	out := ""
	for i := 1; mask != 0; i++ {
		if mask&1 != 0 {
			out += fmt.Sprintf(" %d", i)
		}
		mask >>= 1
	}
	return out
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
