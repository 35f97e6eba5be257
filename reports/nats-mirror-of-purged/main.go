// Command nats-mirror-of-purged runs three NATS servers with JetStream. A stream is purged, and a replicated mirror of
// one of its subjects is created. The first message of the mirror reaches one replica of three. The others stop, and
// the mirror has no quorum, also after a restart of all servers.
//
//	go run .             the stream is purged before the mirror is created
//	go run . -control    the stream is not purged
//
// The exit status is 1 if a replica of the mirror lacks the message.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var control = flag.Bool("control", false, "do not purge the stream")

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// cluster is three servers.
type cluster struct {
	options [3]*server.Options
	up      [3]*server.Server
}

func newCluster(dir string) *cluster {
	var c cluster
	var routes []*url.URL
	var ports [3]int
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(err)
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
		routes = append(routes, &url.URL{Scheme: "nats", Host: l.Addr().String()})
	}
	for i := range c.options {
		c.options[i] = &server.Options{ServerName: fmt.Sprint("n", i+1), Host: "127.0.0.1", Port: -1, NoSigs: true,
			NoLog: true, JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprint(i+1)), Routes: routes,
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]}}
	}
	return &c
}

// start starts all servers, from their files if they have some.
func (c *cluster) start() {
	for i, o := range c.options {
		s, err := server.NewServer(o.Clone())
		must(err)
		c.up[i] = s
		s.Start()
	}
}

func (c *cluster) stop() {
	for _, s := range c.up {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// messages returns the number of messages in each server's replica of a stream.
func (c *cluster) messages(stream string) []uint64 {
	all := make([]uint64, len(c.up))
	for i, s := range c.up {
		info, err := s.Jsz(&server.JSzOptions{Accounts: true, Streams: true})
		if err != nil {
			continue // JetStream is not ready
		}
		for _, a := range info.AccountDetails {
			for _, d := range a.Streams {
				if d.Name == stream {
					all[i] = d.State.Msgs
				}
			}
		}
	}
	return all
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

func main() {
	flag.Parse()
	dir, err := os.MkdirTemp("", "nats")
	must(err)
	defer os.RemoveAll(dir)
	c := newCluster(dir)
	c.start()
	conn, err := nats.Connect("", nats.InProcessServer(c.up[0]))
	must(err)
	js, err := jetstream.New(conn)
	must(err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	create := func(config jetstream.StreamConfig) (s jetstream.Stream) {
		config.Replicas = 3
		created := within(60, func() bool {
			once, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			s, err = js.CreateStream(once, config)
			return err == nil
		})
		if !created {
			log.Fatal(err)
		}
		return s
	}
	write := func(subject string) {
		_, err := js.Publish(ctx, subject, []byte("x"))
		must(err)
	}

	stream := create(jetstream.StreamConfig{Name: "S", Subjects: []string{"key.*"}})
	if *control {
		fmt.Println("stream S with three replicas is created")
	} else {
		write("key.other")
		must(stream.Purge(ctx))
		fmt.Println("stream S with three replicas is created, written to and purged")
	}
	create(jetstream.StreamConfig{Name: "M", Mirror: &jetstream.StreamSource{Name: "S", FilterSubject: "key.mirrored"}})
	fmt.Println("mirror M of subject key.mirrored with three replicas is created")
	time.Sleep(3 * time.Second) // the mirror requests the messages of the stream
	write("key.other")
	write("key.mirrored")
	fmt.Println("a message for key.other and one for key.mirrored are acknowledged")

	everywhere := func() bool {
		all := c.messages("M")
		slices.Sort(all)
		return slices.Equal(all, []uint64{1, 1, 1})
	}
	if within(20, everywhere) {
		fmt.Println("OK: each replica of M has one message")
		conn.Close()
		c.stop()
		return
	}
	all := c.messages("M")
	slices.Sort(all)
	fmt.Printf("20 seconds later the replicas of M have %d messages\n", all)
	conn.Close()
	c.stop()
	c.start()
	fmt.Println("all servers are stopped and started again")
	if !within(30, everywhere) {
		all = c.messages("M")
		slices.Sort(all)
		fmt.Printf("30 seconds later the replicas of M have %d messages\n", all)
		fmt.Println("BUG: two replicas of the mirror lack the message")
		c.stop()
		os.RemoveAll(dir)
		os.Exit(1)
	}
	fmt.Println("OK: each replica of M has one message")
}
