package cli

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/report/campaign"
)

// memoryOfProcess is the expected memory of a process: half a gigabyte for three etcd servers, which crash a few times.
const memoryOfProcess = 1 << 30

// processes returns the number of processes that make the runs of a plan beside this one; 0: this process makes them.
// Other processes make the runs if a process can make only one run at a time, and the load of the machine does not
// affect a run.
func processes(plan lockstep.Plan) (int, error) {
	runner, err := lockstep.NewBatchRunner(plan)
	if err != nil {
		return 0, err
	}
	p, info, terms := runner.Prepared()
	n := p.Workers
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
		if all := memory(); all > 0 {
			n = min(n, int(all/memoryOfProcess))
		}
	}
	n = min(n, p.Runs)
	if n < 2 || !info.Serial || info.Determinism != lockstep.Deterministic || terms.Sequential || terms.Lineages > 1 {
		n = 0
	}
	return n, runner.Close()
}

// abreast starts this number of processes of this program, which make the runs at the same time.
func (c *runCmd) abreast(ctx context.Context, e *Env, plan lockstep.Plan, n int) (*Gathered, error) {
	file, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var variables []string
	if e.asked != "" {
		variables = []string{programVariable + "=" + e.asked}
	}
	args := append(c.batchArgs(), "--workers", "1")
	g, start := &Gathered{}, time.Now()
	sum, traces, err := batch.Abreast{
		Programs: n,
		Warming:  plan.Warming,
		Start: func(ctx context.Context) (*batch.Program, error) {
			return batch.Start(ctx, file, args, variables...)
		},
		Found: func(f lockstep.Failure, packed batch.Trace) {
			t, err := packed.Read()
			if f.Trace = t; plan.OnFailure != nil && err == nil { // an unreadable trace is an error at the end
				plan.OnFailure(&f)
			}
		},
		Took: func(s *batch.Sum) {
			if !plan.Distinct { // the user did not ask for it
				s.Result.Schedules, s.Result.States, s.Result.StateRuns = 0, 0, 0
			}
			g.Curve = campaign.AddSample(g.Curve, s.Result, time.Since(start))
			if plan.Progress != nil {
				plan.Progress(s.Result)
			}
		},
	}.Make(ctx)
	if sum == nil {
		return nil, err
	}
	g.Result, g.Traces, g.Coverage, g.Closure, g.Code = sum.Result, traces, sum.Coverage, sum.Closure, sum.Code
	g.Model = sum.Model
	g.Elapsed, g.Stopped = time.Since(start), e.Interrupted()
	if err != nil {
		g.Failed = err.Error()
	}
	return g, nil
}

// batchArgs returns the arguments with which a program makes batches of the campaign.
func (c *runCmd) batchArgs() []string {
	args := append(c.words(), c.measures()...)
	if c.countsStatements() {
		args = append(args, "--count-statements")
	}
	return append(args, "--seed", fmt.Sprint(c.Seed), "--batches")
}
