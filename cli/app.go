// Package cli provides the command line of Lockstep for any set of targets. A main function of one line builds a custom
// lockstep command:
//
//	package main
//
//	import (
//		"example.com/kv"
//		"github.com/lockstep-go/lockstep/cli"
//	)
//
//	func main() { cli.Main(kv.Targets...) }
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/artifact"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/trace"
	"github.com/lockstep-go/lockstep/watchdog"
)

// The exit statuses. Scripts rely on them.
const (
	statusClean       = 0   // no finding
	statusFinding     = 1   // a finding, a divergence, or a campaign that checked nothing
	statusFailure     = 2   // wrong usage, or a failure of the tool
	statusInterrupted = 130 // interrupted without a finding
)

// Main runs a whole program: the command line for some targets.
func Main(targets ...target.Target) { App{Targets: targets}.Main() }

// App is a command line.
type App struct {
	// Targets are linked into the program.
	Targets []target.Target
	// Programs are targets that are built on demand.
	Programs []target.Program
	// Commands are further commands: pointers to structs whose fields are commands, in the form that package kong
	// expects. Their Run methods get an [*Env].
	Commands []any
	// Conform reads the model of the flag --conform; nil: this program has no models. Package distal/command has one.
	Conform func(file string) (*Model, error)
	// Suite reads the directory of the flag --suite; nil: this program executes no suites. Package distal/command has one.
	Suite func(dir string) (*Suite, error)
	// Fleet lets other machines make the runs of a campaign; nil: there is no fleet.
	Fleet func(*Env, Elsewhere) (*Gathered, error)
	// FleetProgram is built and takes over if a campaign needs a fleet and Fleet is nil. It may be nil as well.
	FleetProgram *target.Program
	// Examples are lines for the help, in addition to those of the commands.
	Examples []string
}

// grammar is the command line.
type grammar struct {
	List       listCmd       `cmd:"" help:"List targets and strategies with their options and defaults."`
	Run        runCmd        `cmd:"" help:"Test a target in many runs, and report what fails."`
	Replay     replayCmd     `cmd:"" help:"Repeat a recorded run and report whether it fails again."`
	Shrink     shrinkCmd     `cmd:"" help:"Look for a smaller run that violates the same property."`
	Explain    explainCmd    `cmd:"" help:"Draw a recorded run as text or as a page."`
	Trace      traceCmd      `cmd:"" help:"Print the steps and events of a run, passing ones too."`
	Compare    compareCmd    `cmd:"" help:"Compare strategies by the number of runs to the first finding."`
	Plan       planCmd       `cmd:"" help:"Compute how many tests of partitions and operations are enough."`
	Go         goCmd         `cmd:"" passthrough:"" help:"The go command for programs with goroutines and sockets in virtual time: build, test, run."`
	Doctor     doctorCmd     `cmd:"" help:"List what is installed, what is missing and what for."`
	Completion completionCmd `cmd:"" help:"Make a shell complete the command line."`
	Complete   completeCmd   `cmd:"" hidden:"" help:"Print the words that may follow."`
	kong.Plugins

	Version kong.VersionFlag `help:"Print the version."`
}

const description = `Test implementations of consensus and replication protocols.

Examples:
  %s

Exit status: 0 nothing found, 1 a finding or a divergence, or no run that could be checked, 2 wrong usage or a
failure of the tool, 130 interrupted with nothing found.

Memory: unless GOGC and GOMEMLIMIT say otherwise, garbage is collected late (GOGC=%d), within three quarters of
the machine's memory.`

// variables are the values that help texts refer to, so that the help matches the code.
var variables = kong.Vars{
	"version":     lockstep.Version,
	"attempts":    fmt.Sprint(shrink.DefaultAttempts),
	"shrinkFor":   artifact.DefaultShrinkFor.String(),
	"shrinkTimed": artifact.DefaultShrinkTimed.String(),
	"runs":        fmt.Sprint(defaultRuns),
	"usual":       usualStrategy,
	"guided":      guidedStrategy,
	"timeout":     watchdog.Default.String(),
}

// examples are lines for the help of every command line.
var examples = []string{
	"lockstep list",
	"lockstep run TARGET --runs 10000 --seed 7",
	"lockstep run TARGET --nodes 5 --strategy walk:crash=1,restart=1 --for 30s --json",
	"lockstep run ./cmd/check --strategy uniform:period=4,isolations=4,rounds=16",
	"lockstep replay lockstep-out/smr-bug-prefix-seed7-run12.trace",
	"lockstep compare TARGET --strategies uniform,walk,pctcp",
	"lockstep plan split --nodes 5 --k 2 --confidence 0.95",
}

// Env is the environment of a command: its context, its output and the program's name.
type Env struct {
	// Ctx ends when the program is interrupted.
	Ctx context.Context
	// Out and Err are the writers for output and errors.
	Out, Err io.Writer
	// Self is the program name that the user typed. Commands for the user to paste begin with it.
	Self string

	app     *App
	args    []string
	model   *kong.Node // the grammar
	asked   string     // the name by which the user asked for this program, if it was built on demand
	command string     // the command without its arguments, e.g. "plan split"
	status  int
	// conformance is the model of --conform, and conformed the flags that asked for it.
	conformance *Model
	conformed   conforming
	// bestEffort makes the go command build programs without the overlay of package bubble.
	bestEffort bool
	// write writes a file.
	write func(file string, content func(io.Writer) error) error
}

// Found sets the exit status to that of a finding.
func (e *Env) Found() { e.status = statusFinding }

// Report sets the exit status according to the problems of a campaign: an error counts as a finding. After an interrupt
// only the campaign's findings count, because the campaign may not have had time for more.
func (e *Env) Report(problems []lockstep.Problem) {
	for _, p := range problems {
		found := p.Verdict() == trace.Fail || p.Verdict() == trace.Flaky
		if p.Severity == lockstep.SeverityError && (found || !e.Interrupted()) {
			e.Found()
		}
	}
}

// Interrupted reports whether the user or a signal stopped the program.
func (e *Env) Interrupted() bool { return e.Ctx.Err() != nil }

// Partial notes below the output that an interrupt stopped the program before the rest was done: "interrupted: these
// are the campaigns made until then". Without an interrupt it prints nothing.
func (e *Env) Partial(what string) {
	if e.Interrupted() {
		fmt.Fprintf(e.Out, "interrupted: these are the %s until then\n", what)
	}
}

// secondSignal is the time after a signal in which another one counts as the same signal. For example, the command
// timeout sends its signal to the program and to the program's process group.
const secondSignal = time.Second

// Main runs the command line of the process and exits.
func (a App) Main() {
	if err := checkSpace(addressSpace()); err != nil {
		fmt.Fprintln(os.Stderr, "lockstep:", err)
		os.Exit(statusFailure)
	}
	tune()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After that, one more signal ends the program at once.
	context.AfterFunc(ctx, func() { time.AfterFunc(secondSignal, stop) })
	os.Exit(a.execute(ctx, os.Args[0], os.Args[1:], os.Stdout, os.Stderr))
}

// Model returns the commands, arguments and flags with their help, as package kong describes them. The reference pages
// of the documentation are generated from it.
func (a App) Model() (*kong.Application, error) {
	parser, err := a.parser()
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

// parser returns the parser of the command line.
func (a App) parser(options ...kong.Option) (*kong.Kong, error) {
	return kong.New(&grammar{Plugins: a.Commands}, append(options, kong.Name("lockstep"),
		kong.Description(fmt.Sprintf(description, strings.Join(append(a.Examples, examples...), "\n  "), throughput)),
		variables, kong.ConfigureHelp(kong.HelpOptions{Compact: true}))...)
}

// execute runs one command line and returns its exit status.
func (a App) execute(ctx context.Context, self string, args []string, out, errOut io.Writer) (status int) {
	exited := false
	parser, err := a.parser(kong.Writers(out, errOut), kong.Exit(func(code int) { exited, status = true, code }))
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
	e := &Env{
		Ctx:   ctx,
		Out:   out,
		Err:   errOut,
		Self:  self,
		app:   &a,
		args:  args,
		model: parser.Model.Node,
		asked: os.Getenv(programVariable),
		write: artifact.WriteFile,
	}
	_ = os.Unsetenv(programVariable) // programs that this one starts must not inherit it
	if err == nil {
		e.command = commandOf(parsed)
		err = parsed.Run(e)
	}
	return e.end(err)
}

// end prints the error and returns the exit status.
func (e *Env) end(err error) int {
	switch {
	case e.Interrupted() && (err == nil || errors.Is(err, context.Canceled)):
		if err != nil {
			fmt.Fprintln(e.Err, "lockstep: interrupted")
		}
		if e.status == statusClean {
			return statusInterrupted
		}
		return e.status
	case err != nil:
		fmt.Fprintln(e.Err, "lockstep:", oneLine(err))
		return statusFailure
	default:
		return e.status
	}
}

// Execute runs another command line of the same program.
func (e *Env) Execute(args ...string) {
	e.status = e.app.execute(e.Ctx, e.Self, args, e.Out, e.Err)
}

// commandOf returns the command that the user gave, without its arguments.
func commandOf(parsed *kong.Context) string {
	var words []string
	for _, w := range strings.Fields(parsed.Command()) {
		if !strings.HasPrefix(w, "<") && !strings.HasPrefix(w, "[") {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// oneLine returns an error as one line, however many errors it wraps.
func oneLine(err error) string {
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		return wrongUsage(parse)
	}
	return unprefixed(joinLines(err.Error()))
}

// wrongUsage returns the error of a command line that could not be parsed. Of several files where one is expected,
// which a shell makes of a pattern, it says what to do.
func wrongUsage(err *kong.ParseError) string {
	text, command := err.Error(), "lockstep"
	if node := err.Context.Selected(); node != nil {
		command = node.FullPath()
		if len(node.Positional) == 1 && strings.HasPrefix(text, "unexpected argument") {
			text += fmt.Sprintf(": %s takes one %s, so call it once for each", command, node.Positional[0].Summary())
		}
	}
	return fmt.Sprintf("%s (see %s --help)", text, command)
}

// unprefixed returns a message without the prefix of a package. The program prints its own prefix once.
func unprefixed(message string) string {
	message = strings.TrimPrefix(message, prefix)
	for _, before := range []string{": ", "; "} {
		message = strings.ReplaceAll(message, before+prefix, before)
	}
	return message
}

// prefix begins every message of the program.
const prefix = "lockstep: "
