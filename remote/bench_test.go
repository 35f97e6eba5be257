package remote_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/remote"
	"github.com/lockstep-go/lockstep/remote/client"
	"github.com/lockstep-go/lockstep/strategy"
)

// pass forwards messages: each message goes to the next node.
func pass(ctx context.Context, options client.Options) error {
	c := client.Connect(options)
	next := func() client.Message {
		return client.Message{To: c.Node()%c.Nodes() + 1, Type: "token", Body: []byte("0123456789abcdef")}
	}
	return c.Run(ctx, client.Handlers{
		Start:   func() { c.Send(next()) },
		Deliver: func(int, string, []byte) { c.Send(next()) },
	})
}

// echo answers every line with the same line.
func echo() {
	conn, err := net.Dial("tcp", os.Getenv("LOCKSTEP_TEST_ECHO"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = io.Copy(conn, conn)
}

// BenchmarkDeliveries measures deliveries a second through the engine and four replicas in separate processes. For
// comparison, it measures orders without an engine (the bare transport) and lines on sockets. On a loaded machine, the
// CPU time of one delivery in all processes is more informative.
func BenchmarkDeliveries(b *testing.B) {
	for _, spread := range []string{"", "-spread"} {
		b.Run("go"+spread, func(b *testing.B) { deliveries(b, processes("pass"), spread != "") })
		b.Run("java"+spread, func(b *testing.B) {
			java, dir := compiled(b, "testdata/Pass.java")
			system := processes("")
			system.Command = func(lockstep.Node, string) *exec.Cmd {
				return exec.Command(java, "-XX:+UseSerialGC", "-Xmx128m", "-cp", dir, "Pass")
			}
			deliveries(b, system, spread != "")
		})
	}
}

func deliveries(b *testing.B, system remote.System, spread bool) {
	const steps = 2000
	system.Nodes, system.Requests, system.Spread = 4, nil, spread
	runs := max(b.N, 2)
	plan := lockstep.Plan{
		System:    system,
		Strategy:  strategy.Walk{Deliver: 1, Steps: steps},
		Workers:   1,
		Runs:      runs,
		KeepGoing: true,
	}
	d := &deployedOnce{System: system}
	plan.System = d
	before := used()
	result, err := lockstep.Explore(b.Context(), plan)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64((used()-before).Microseconds())/float64(result.Steps), "µs-used/delivery")
	engine := float64(result.Steps) / time.Since(d.begun).Seconds()
	bare := bareOrders(b, system, runs*steps)
	lines := bareLines(b, runs*steps)
	b.ReportMetric(engine, "deliveries/s")
	b.ReportMetric(bare, "bare/s")
	b.ReportMetric(lines, "lines/s")
	b.ReportMetric(engine/bare, "ratio")
	b.ReportMetric(0, "ns/op")
}

// used returns the CPU time of this process and of its child processes that have ended.
func used() (all time.Duration) {
	for _, scope := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(scope, &u); err != nil {
			panic(err) // fails only for invalid arguments
		}
		all += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return all
}

// deployedOnce records when its replicas have connected, so that the benchmark excludes that time.
type deployedOnce struct {
	remote.System
	begun time.Time
}

func (d *deployedOnce) Deploy(ctx context.Context, p *lockstep.Env) (lockstep.Deployment, error) {
	deployed, err := d.System.Deploy(ctx, p)
	if err == nil {
		err = remote.AskAll(context.Background(), deployed, 4)
	}
	d.begun = time.Now()
	return deployed, err
}

// bareOrders sends orders to the replicas one after the other, without an engine.
func bareOrders(b *testing.B, system remote.System, orders int) float64 {
	d, err := system.Deploy(context.Background(), &lockstep.Env{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	if err := remote.AskAll(b.Context(), d, 4); err != nil {
		b.Fatal(err)
	}
	var took time.Duration
	remote.Together(d, func() {
		begin := time.Now()
		err = remote.AskAll(b.Context(), d, orders)
		took = time.Since(begin)
	})
	if err != nil {
		b.Fatal(err)
	}
	return float64(orders) / took.Seconds()
}

// bareLines sends lines to four processes in turn, which echo them.
func bareLines(b *testing.B, lines int) float64 {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	b.Setenv("LOCKSTEP_TEST_ECHO", listener.Addr().String())
	var conns [4]net.Conn
	var readers [4]*bufio.Reader
	for i := range conns {
		cmd := processes("echo").Command(1, "")
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		defer cmd.Wait()
		if conns[i], err = listener.Accept(); err != nil {
			b.Fatal(err)
		}
		defer conns[i].Close()
		readers[i] = bufio.NewReader(conns[i])
	}
	begin := time.Now()
	for i := range lines {
		fmt.Fprintln(conns[i%4], "0123456789abcdef")
		if _, err := readers[i%4].ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	return float64(lines) / time.Since(begin).Seconds()
}
