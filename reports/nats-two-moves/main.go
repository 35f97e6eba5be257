// Command nats-two-moves runs five NATS servers with JetStream. An operator removes two replicas of a stream with three
// replicas from their servers, and both requests succeed. No server stops, and no message is lost. Some streams are
// left with one replica, have no leader and accept no message anymore.
//
//	go run .             the second replica is removed right after the first
//	go run . -control    the second replica is removed when the stream has three current replicas again
//
// Whether a stream is affected depends on the choice of servers and on time, so the program does this to 30 streams.
// The exit status is 1 if one of them accepts no message a minute later.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	servers = 5
	streams = 30
)

var control = flag.Bool("control", false, "wait until the stream has three current replicas before the second removal")

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// start starts the servers.
func start(dir string) (up []*server.Server) {
	var routes []*url.URL
	var ports [servers]int
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
		routes = append(routes, &url.URL{Scheme: "nats", Host: l.Addr().String()})
	}
	for i := range ports {
		s, err := server.NewServer(&server.Options{ServerName: fmt.Sprint("n", i+1), Host: "127.0.0.1", Port: -1,
			NoSigs: true, NoLog: true, JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprint(i+1)), Routes: routes,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]}})
		must(err)
		up = append(up, s)
	}
	return up
}

// replicas returns the number of servers that have a stream, and whether one of them leads it.
func replicas(up []*server.Server, stream string) (have int, led bool) {
	for _, s := range up {
		info, err := s.Jsz(&server.JSzOptions{Accounts: true, Streams: true})
		must(err)
		for _, a := range info.AccountDetails {
			for _, d := range a.Streams {
				if d.Name == stream {
					have++
					led = led || d.Cluster != nil && d.Cluster.Leader == s.Name()
				}
			}
		}
	}
	return have, led
}

// within waits for a condition, for some seconds.
func within(seconds int, is func() bool) bool {
	for range 10 * seconds {
		if is() {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return is()
}

// operator is a connection to the cluster.
type operator struct {
	conn *nats.Conn
	js   jetstream.JetStream
}

// create creates a stream, and returns its leader and another server that has it, when all replicas are current.
func (o operator) create(name string) (leader, follower string) {
	for !within(60, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, err := o.js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name}, Replicas: 3})
		return err == nil
	}) {
		log.Fatalf("%s is not created", name)
	}
	current := o.await(name, "")
	return current.Leader, current.Replicas[0].Name
}

// await waits until a stream has three current replicas, none of them on a server.
func (o operator) await(name, gone string) (c *jetstream.ClusterInfo) {
	if !within(60, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		s, err := o.js.Stream(ctx, name)
		if err != nil {
			return false
		}
		c = s.CachedInfo().Cluster
		current := c.Leader != "" && c.Leader != gone && len(c.Replicas) == 2
		for _, r := range c.Replicas {
			current = current && r.Current && r.Name != gone
		}
		return current
	}) {
		log.Fatalf("%s does not have three current replicas", name)
	}
	return c
}

// remove removes a replica of a stream from a server, which must succeed.
func (o operator) remove(stream, from string) {
	ask, err := json.Marshal(map[string]string{"peer": from})
	must(err)
	m, err := o.conn.Request("$JS.API.STREAM.PEER.REMOVE."+stream, ask, 10*time.Second)
	must(err)
	var answer struct {
		Success bool            `json:"success"`
		Error   json.RawMessage `json:"error"`
	}
	must(json.Unmarshal(m.Data, &answer))
	if !answer.Success {
		log.Fatalf("%s is not removed from %s: %s", stream, from, answer.Error)
	}
}

// accepts reports whether a stream accepts a message within some seconds.
func (o operator) accepts(stream string) bool {
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		_, err := o.js.Publish(ctx, stream, []byte("x"))
		if cancel(); err == nil {
			return true
		}
	}
	return false
}

func main() {
	flag.Parse()
	dir, err := os.MkdirTemp("", "nats")
	must(err)
	up := start(dir)
	for _, s := range up {
		s.Start()
	}
	conn, err := nats.Connect("", nats.InProcessServer(up[0]))
	must(err)
	js, err := jetstream.New(conn)
	must(err)
	bad := try(operator{conn, js}, up)
	conn.Close()
	for _, s := range up {
		s.Shutdown()
		s.WaitForShutdown()
	}
	os.RemoveAll(dir)
	if bad {
		os.Exit(1)
	}
}

// try makes the removals, and reports whether a stream is left without a leader.
func try(o operator, up []*server.Server) (bad bool) {
	for i := range streams {
		name := fmt.Sprint("S", i)
		leader, follower := o.create(name)
		o.remove(name, follower)
		if *control {
			leader = o.await(name, follower).Leader
		}
		o.remove(name, leader)
	}
	fmt.Printf("%d streams with three replicas on %d servers are created\n", streams, servers)
	fmt.Println("of each a replica is removed from its server, then that of its leader; all requests succeed")
	time.Sleep(time.Minute)
	least := 3
	for i := range streams {
		name := fmt.Sprint("S", i)
		if o.accepts(name) {
			continue
		}
		have, led := replicas(up, name)
		if led {
			log.Fatalf("%s has a leader and accepts no message", name)
		}
		if bad, least = true, min(least, have); least == 1 {
			break
		}
	}
	if bad {
		fmt.Printf("a minute later a stream has %d of 3 replicas and no leader\n", least)
		fmt.Println("BUG: it accepts no message")
	} else {
		fmt.Println("OK: a minute later all streams accept messages")
	}
	return bad
}
