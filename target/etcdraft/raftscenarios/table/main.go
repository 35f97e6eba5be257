// Command table runs the eleven Raft scenarios of the Netrix paper and prints how they
// did, the published figures beside ours. It exits with 1 when one of them does worse
// than published, or is vacuous in part, or finds what it should not.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target/etcdraft/raftscenarios"
)

func main() {
	runs := flag.Int("runs", 1000, "iterations of each scenario")
	seed := flag.Uint64("seed", 1, "seed of the campaigns")
	text := flag.String("strategy", "", "strategy, as on the command line of lockstep, instead of "+raftscenarios.Strategy.String())
	flag.Parse()
	s := raftscenarios.Strategy
	if *text != "" {
		var err error
		if s, err = strategy.Parse(*text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	start := time.Now()
	ok, err := raftscenarios.Table(context.Background(), os.Stdout, s, *runs, *seed, func() float64 { return time.Since(start).Seconds() })
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}
