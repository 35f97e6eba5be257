package netrix

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/target"
)

// Replicas are replicas of one program, as the command line starts them: a [lockstep.System].
type Replicas struct {
	// Bin is the program, with its arguments.
	Bin string `help:"the program of a replica, with its arguments, in which {id}, {nodes}, {server}, {self} and {directory} are replaced" trust:"executes"`
	// Nodes is the number of replicas. Their names are 1, 2, and so on.
	Nodes int `help:"number of replicas, whose names are 1, 2, ..." range:"1..64"`
	// Listen is the address at which replicas register; empty means a free port. Only loopback addresses are accepted.
	Listen string `help:"the loopback address at which replicas register if Lockstep does not start them; empty: a free port" trust:"harmless"`
	// Agree lists the rules for agreement between events, see [Agreement].
	Agree string `help:"events that must agree, as EVENT:KEY:VALUE,...: those with the same parameter KEY have the same VALUE, which may be replica"`
	// Silence is how long no report must arrive for the system to be quiescent.
	Silence time.Duration `help:"how long all replicas must report nothing for the system to count as quiescent; 0s: 20ms" zero:"20ms"`
	// Timeout is the timeout for a replica to become ready.
	Timeout time.Duration `help:"how long a replica may take to start; 0s: 10s" zero:"10s"`
}

// Target is a program that was instrumented for Netrix.
var Target = target.Of("netrix",
	"a program instrumented for Netrix, in any language (--set bin='./replica {id} {server} {self}')",
	Replicas{Nodes: 3}, Agreement).
	Explored("walk:deliver=10,drop=0,timer=3,request=0,crash=1,restart=4,steps=60").
	WithStepTimeout(time.Minute)

// Describe returns the properties and capabilities of the system.
func (r Replicas) Describe() (lockstep.Info, error) {
	if err := r.check(); err != nil {
		return lockstep.Info{}, err
	}
	info, err := r.system().Describe()
	info.Options = target.Changed(r, Replicas{}, "bin", "nodes")
	return info, err
}

// Deploy starts the server, and the replicas if there is a program.
func (r Replicas) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	return r.system().Deploy(ctx, p)
}

// check validates the settings that [System] does not have.
func (r Replicas) check() error {
	if strings.TrimSpace(r.Bin) == "" && r.Listen == "" {
		return errors.New("netrix: bin is the program of a replica, like --set bin='./replica {id} {server} {self}'; " +
			"without it, listen is the address at which replicas register that are started elsewhere, " +
			"like --set listen=127.0.0.1:7074")
	}
	if _, err := rulesOf(r.Agree); err != nil {
		return err
	}
	return target.Check("netrix", r)
}

func (r Replicas) system() System {
	s := System{Name: "netrix", Nodes: r.Nodes, Listen: r.Listen, Silence: r.Silence, Timeout: r.Timeout}
	if args := strings.Fields(r.Bin); len(args) > 0 {
		s.Command = func(node lockstep.Node, server, self, dir string) *exec.Cmd {
			words := strings.NewReplacer("{id}", fmt.Sprint(node), "{nodes}", strconv.Itoa(r.Nodes), "{server}", server,
				"{self}", self, "{directory}", dir)
			given := make([]string, len(args))
			for i, a := range args {
				given[i] = words.Replace(a)
			}
			return exec.Command(given[0], given[1:]...)
		}
	}
	return s
}
