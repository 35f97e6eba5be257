package process_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/process"
	"github.com/lockstep-go/lockstep/trace"
)

func Example() {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	keeper, err := process.NewSupervisor(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer keeper.Close()
	server, err := keeper.Server("node1")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := server.Start(exec.Command("/bin/sh", "-c", "echo ready; exec sleep 1000")); err != nil {
		fmt.Println(err)
		return
	}
	err = server.Await(context.Background(), func(context.Context) bool { return len(server.Log.Last(1)) > 0 })
	fmt.Println(err, server.Running(), server.Log.Last(1))
	server.Kill()
	fmt.Println(server.Running())
	// Output:
	// <nil> true [ready]
	// false
}

func ExampleNetwork() {
	network := process.NewNetwork(2, process.Stalls, nil)
	defer network.Close()
	// the address where node 1 expects node 2, and the real address of node 2
	link, err := network.Link(1, 2, "127.0.0.2:20001", "127.0.0.2:20002", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	network.Cut(func(from lockstep.Node) lockstep.Nodes { // nothing gets from 1 to 2
		if from == 1 {
			return trace.NodesOf(2)
		}
		return 0
	})
	network.Cut(process.NoCuts)
	network.Hold(2, 1, true)                 // traffic from 2 to 1 waits
	network.Delay(1, 2, 10*time.Millisecond) // traffic from 1 to 2 is delayed
	// no server listens there, so that no connection exists
	fmt.Println(link.Connections(), network.CheckBypass([]int{os.Getpid()}))
	// Output: 0 <nil>
}

// lines is a protocol of lines. Each line is a message, in both directions.
type lines struct{}

func (lines) Next(data []byte) (process.Packet, int, error) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		return process.Packet{}, 0, nil // incomplete: more bytes are needed
	}
	return process.Packet{Type: "line", Text: string(data[:end])}, end + 1, nil
}

func ExampleNetwork_SetControlled() {
	server, err := net.Listen("tcp", "127.0.0.2:20004")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	network := process.NewNetwork(2, process.Closes, nil)
	defer network.Close()
	link, err := network.Link(1, 2, "127.0.0.2:20003", "127.0.0.2:20004", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	link.Decode(func() (said, answered process.Decoder) { return lines{}, lines{} })
	network.SetControlled(true)
	for open := false; !open; open, _ = link.Listens() {
		time.Sleep(time.Millisecond)
	}
	conn, err := net.Dial("tcp", "127.0.0.2:20003")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Fprintln(conn, "hello")
	var came []process.WaitingPacket
	for len(came) == 0 {
		_ = network.AwaitIdle(context.Background(), time.Millisecond)
		came, _, _ = network.Poll()
	}
	fmt.Println(came[0].From, came[0].To, came[0].Type, came[0].Text)
	fmt.Println(network.Deliver(came[0].Number), network.Drop(came[0].Number)) // the packet passes, and no longer waits
	at, _ := server.Accept()
	text, _ := bufio.NewReader(at).ReadString('\n')
	fmt.Print(text)
	at.Close()
	// Output:
	// 1 2 line hello
	// true false
	// hello
}

func ExampleLink_SetUnordered() {
	server, err := net.Listen("tcp", "127.0.0.2:20008")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	network := process.NewNetwork(2, process.Closes, nil)
	defer network.Close()
	link, err := network.Link(1, 2, "127.0.0.2:20007", "127.0.0.2:20008", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	link.Decode(func() (said, answered process.Decoder) { return lines{}, nil })
	link.SetUnordered()
	network.SetControlled(true)
	for open := false; !open; open, _ = link.Listens() {
		time.Sleep(time.Millisecond)
	}
	conn, err := net.Dial("tcp", "127.0.0.2:20007")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Fprint(conn, "one\ntwo\n")
	for network.Waiting() < 2 { // the second does not wait for the first
		time.Sleep(time.Millisecond)
	}
	came, _, _ := network.Poll()
	network.Drop(came[0].Number) // the second is not lost with it
	network.Deliver(came[1].Number)
	at, _ := server.Accept()
	text, _ := bufio.NewReader(at).ReadString('\n')
	fmt.Print(text)
	at.Close()
	// Output: two
}

func ExampleSupervisor_AnotherAddress() {
	dir, err := os.MkdirTemp("", "lockstep-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	keeper, err := process.NewSupervisor(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer keeper.Close()
	host, err := keeper.AnotherAddress() // for servers that all use the same port
	fmt.Println(host != keeper.Address, net.ParseIP(host).IsLoopback(), err)
	// Output: true true <nil>
}

func ExampleLink_AcceptEarly() {
	network := process.NewNetwork(2, process.Closes, nil)
	defer network.Close()
	link, err := network.Link(1, 2, "127.0.0.2:20005", "127.0.0.2:20006", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(link.AcceptEarly("127.0.0.2:20007", time.Second)) // open while 2 listens there
	network.SetOffline(2, true)                                   // 2 is off the network
	fmt.Println(link.Listens())
	// Output:
	// <nil>
	// false <nil>
}

func ExampleListens() {
	fmt.Println(process.Listens("127.0.0.2:20010"))
	server, err := net.Listen("tcp", "127.0.0.2:20010")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	fmt.Println(process.Listens("127.0.0.2:20010"))
	// Output:
	// process: nothing listens at 127.0.0.2:20010
	// <nil>
}

func ExampleLog() {
	var log process.Log
	w := bufio.NewWriter(&log)
	fmt.Fprintln(w, "LOOKING")
	fmt.Fprintln(w, "LEADING")
	w.Flush()
	lines, count := log.Since(1)
	fmt.Println(log.Last(2), lines, count)
	// Output: [LOOKING LEADING] [LEADING] 2
}

func ExampleTimed() {
	var spent process.Spent
	err := process.Timed(&spent.Waiting, func() error { return process.Sleep(context.Background(), time.Millisecond) })
	fmt.Println(err, spent)
	// Output: <nil> starting 0 %, waiting 100 %, working 0 %
}

func ExampleInconclusive() {
	err := process.Inconclusive(errors.New("a server ended unexpectedly"))
	var only *lockstep.Inconclusive
	fmt.Println(errors.As(err, &only), err, process.Inconclusive(nil))
	// Output: true a server ended unexpectedly <nil>
}

func ExampleSend() {
	listener, err := net.Listen("tcp", "127.0.0.2:20008")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer listener.Close()
	go func() {
		conn, _ := listener.Accept()
		order, _ := bufio.NewReader(conn).ReadString('\n')
		fmt.Fprint(conn, "done: ", order)
		conn.Close()
	}()
	fmt.Println(process.Send(context.Background(), "127.0.0.2:20008", "stop"))
	// Output: done: stop <nil>
}

func ExampleNetwork_RaiseLimit() {
	network := process.NewNetwork(2, process.Closes, nil)
	defer network.Close()
	network.RaiseLimit()                                                         // packets with more progress wait
	fmt.Println(network.AwaitAboveLimit(context.Background(), time.Millisecond)) // nothing came
	network.ClearLimit()
	// Output: false <nil>
}

func ExampleProgram() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // it would take a minute
	_, err := process.Program(ctx, "example.org/no/server", "v1.0.0")
	fmt.Println(err != nil)
	// Output: true
}
