package ratis_test

import (
	"fmt"

	"github.com/lockstep-go/lockstep/target/ratis"
)

func ExampleNetty() {
	_, follower := ratis.Netty()
	reply := []byte("\x0a\x12\x08\x10\x03\x18\x05\x20\x02\x28\x04") // a length, and an AppendEntriesReply
	p, length, err := follower.Next(reply)
	fmt.Println(p.Type, p.Text, ratis.Rounds[p.Tag.Round], p.Progress, length, err)
	// Output: AppendEntriesReply term=3 INCONSISTENCY next=5 commit=4 appended 5 11 <nil>
}

func ExampleGRPC() {
	said, _ := ratis.GRPC()
	_, _, err := said.Next([]byte("GET / HTTP/1.1"))
	fmt.Println(err)
	// Output: ratis: at the gRPC port: http2: a connection that does not begin with the preface
}
