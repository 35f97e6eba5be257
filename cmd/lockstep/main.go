// Command lockstep explores, replays, shrinks and explains runs of replicated systems.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/lockstep-go/lockstep"
)

// The exit statuses: scripts rely on them.
const (
	statusClean   = 0 // nothing found
	statusFinding = 1
	statusFailure = 2 // wrong usage, or a failure of the tool
)

// cli is the command line.
type cli struct {
	Demo      demoCmd      `cmd:"" help:"Find, shrink, explain and draw the papers' bug."`
	List      listCmd      `cmd:"" help:"List targets and strategies with their options and defaults."`
	Run       runCmd       `cmd:"" help:"Explore a target."`
	Replay    replayCmd    `cmd:"" help:"Repeat a recorded run and compare."`
	Shrink    shrinkCmd    `cmd:"" help:"Look for a smaller run that violates the same property."`
	Explain   explainCmd   `cmd:"" help:"Draw a recorded run."`
	Compare   compareCmd   `cmd:"" help:"Compare strategies: runs to the first finding."`
	Plan      planCmd      `cmd:"" help:"How many tests of partitions and operations are enough."`
	Coverage  coverageCmd  `cmd:"" help:"Coverage of partitions and operations, predicted and measured."`
	Distal    distalCmd    `cmd:"" help:"Check, transform and search protocols written in Distal."`
	Scenarios scenariosCmd `cmd:"" help:"Run the eleven Raft scenarios of the Netrix paper."`
	Mutants   mutantsCmd   `cmd:"" help:"Measure strategies by planted mistakes in etcd's raft."`

	Version kong.VersionFlag `help:"Print the version."`
}

const description = `Test implementations of consensus and replication protocols.

Examples:
  lockstep demo
  lockstep list
  lockstep run smr-bug --runs 10000 --seed 7
  lockstep run smr --strategy uniform:period=4,isolations=4,rounds=16 --runs 1000000
  lockstep run smr-bug --nodes 5 --strategy walk:crash=1,restart=1 --for 30s --json
  lockstep replay lockstep-out/smr-bug-prefix-seed7-run12.trace
  lockstep compare smr-bug --strategies uniform,walk,pctcp
  lockstep plan split --nodes 5 --k 2 --confidence 0.95
  lockstep distal explore examples/distal/paxos_buggy.distal
  lockstep mutants run vote-twice commit-old-term

Exit status: 0 nothing found, 1 a finding, 2 wrong usage or a failure of the tool.`

// env is what a command works with.
type env struct {
	ctx    context.Context
	out    io.Writer
	err    io.Writer
	self   string // how the program was called, for commands to paste
	create func(dir string) (outFile, error)
	status int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(execute(ctx, os.Args[0], os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns its exit status.
func execute(ctx context.Context, self string, args []string, out, errOut io.Writer) (status int) {
	exited := false
	parser, err := kong.New(&cli{}, kong.Name("lockstep"), kong.Description(description),
		kong.Vars{"version": lockstep.Version}, kong.Writers(out, errOut),
		kong.Exit(func(code int) { exited, status = true, code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		fmt.Fprintln(errOut, "lockstep:", err)
		return statusFailure
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited { // --help or --version was printed
		return status
	}
	e := &env{ctx: ctx, out: out, err: errOut, self: self, create: createTemp}
	if err == nil {
		err = parsed.Run(e)
	}
	if err != nil {
		fmt.Fprintln(errOut, "lockstep:", oneLine(err))
		return statusFailure
	}
	return e.status
}

// oneLine is an error as one line, however many it wraps.
func oneLine(err error) string {
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		return parse.Error() + " (see lockstep --help)"
	}
	return joinLines(err.Error())
}
