package zookeeper_test

import (
	"fmt"

	"github.com/lockstep-go/lockstep/target/zookeeper"
	"github.com/lockstep-go/lockstep/trace"
)

func ExampleParse() {
	h, err := zookeeper.Parse("2:k0=101; ; 3:k0=101?k1=302")
	fmt.Println(len(h), h, err)
	_, err = zookeeper.Parse("2:k7=1")
	fmt.Println(err)
	// Output:
	// 3 2:k0=101; empty; 3:k0=101?k1=302 <nil>
	// "2:k7=1" is no step of a harness: it is empty, or like 2:k0=101, or like 2:k1=0?k0=101
}

func ExampleSchedule() {
	sc := zookeeper.Schedule("the leader is alone", zookeeper.Away{Start: trace.NodesOf(3), Request: trace.NodesOf(1)})
	filters, _ := sc.Size()
	fmt.Println(sc.Name(), filters)
	// Output: the leader is alone 3
}

func ExampleBaseline() {
	fmt.Println(zookeeper.Baseline().Name())
	// Output: baseline
}

func ExampleQuorum() {
	_, leader := zookeeper.Quorum()
	// without data and identities
	commit := []byte("\x00\x00\x00\x04\x00\x00\x00\x02\x00\x00\x00\x07\xff\xff\xff\xff\xff\xff\xff\xff")
	p, length, err := leader.Next(commit)
	fmt.Println(p.Type, p.Text, zookeeper.Rounds[p.Tag.Round], length, err)
	// Output: COMMIT zxid=0x200000007 commit 20 <nil>
}

func ExampleElection() {
	said, _ := zookeeper.Election()
	vote := append([]byte{0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}, make([]byte, 16)...)
	p, length, err := said.Next(vote)
	fmt.Println(p.Type, p.Text, length, err)
	// Output: Notification LOOKING leader=3 zxid=0x0 round=0 32 <nil>
}
