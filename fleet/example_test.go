package fleet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/fleet"
	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/target/smr"
)

// self returns a program that has a target: here the test itself.
func self(string, []string) (string, []string, error) {
	file, err := os.Executable()
	return file, []string{"FLEET_TEST_COMMAND=1"}, err
}

// A fleet in one process: a server, a worker, and a client that gives a campaign and waits for it.
func Example() {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	server, err := fleet.Serve(ctx, fleet.Config{Dir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	if _, err := server.Page(ctx, "127.0.0.1:0"); err != nil {
		panic(err)
	}
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	others.Go(func() { _ = server.Run(ctx) })
	worker := fleet.Worker{URL: server.URL, Token: server.Token, Program: self}
	others.Go(func() { _ = worker.Join(ctx) })

	file, variables, _ := self("", nil)
	args := []string{"run", "smr-bug", "--runs", "1000", "--seed", "7", "--batches"}
	program, err := batch.Start(ctx, file, args, variables...) // the program describes the campaign
	if err != nil {
		panic(err)
	}
	program.Close()
	client, err := fleet.Dial(ctx, server.URL, server.Token)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	ids, err := client.Give(ctx, fleet.Job{Hello: program.Hello, Target: "smr-bug", Args: args})
	if err != nil {
		panic(err)
	}
	ledger, err := client.Wait(ctx, ids[0], func(*fleet.Ledger) {})
	if err != nil {
		panic(err)
	}
	traces, err := client.Traces(ctx, ledger)
	fmt.Println(ledger.Result.Runs, ledger.Findings[0].Text, len(traces), err)
	workers, err := client.Workers(ctx)
	fmt.Println(len(workers), err)
	all, err := client.Ledgers(ctx)
	fmt.Println(len(all), err)
	stopped, err := client.Stop(ctx, ids[0]) // the campaign has ended already
	fmt.Println(stopped, err)
	// Output:
	// 42 node 1 outputs ad, but node 2 had output c 1 <nil>
	// 1 <nil>
	// 1 <nil>
	// [] <nil>
}

// A command line with the commands of a fleet, for custom targets.
func ExampleCommands() {
	app := cli.App{Targets: smr.Targets, Commands: []any{&fleet.Commands{}}, Fleet: fleet.Elsewhere}
	fmt.Println(len(app.Commands)) // app.Main() is the whole program
	// Output: 1
}

func ExampleReadPlan() {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(file, []byte("name: nightly\nstop: {failure-rate: 1e-6}\ncampaigns: [{target: smr}]\n"),
		0o600); err != nil {
		panic(err)
	}
	plan, err := fleet.ReadPlan(file)
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Name, plan.Stop.Runs())
	// Output: nightly 2995731
}
