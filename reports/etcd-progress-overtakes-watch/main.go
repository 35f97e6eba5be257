// Command etcd-progress-overtakes-watch runs one etcd server. A client requests the progress of a busy watch stream,
// and opens a second watch on that stream, from an earlier revision on. The server answers that the second watch is
// open, then that all watches of the stream have received everything up to a later revision, and then it sends an event
// of the second watch that is earlier.
//
//	go run .             the client opens the second watch when it has requested progress
//	go run . -control    the client opens the second watch, waits until it is open, and then requests progress
//
// The server chooses between two ready queues at random. The program makes up to a hundred attempts. The exit
// status is 1 if progress overtakes an event.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

var control = flag.Bool("control", false, "request progress when the second watch is open")

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// start starts a server on free ports of the loopback, and connects a client.
func start(dir string) *clientv3.Client {
	c := embed.NewConfig()
	c.Dir, c.ZapLoggerBuilder = dir, embed.NewZapLoggerBuilder(zap.NewNop())
	any := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	c.ListenPeerUrls, c.AdvertisePeerUrls, c.ListenClientUrls, c.AdvertiseClientUrls = any, any, any, any
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	server, err := embed.StartEtcd(c)
	must(err)
	<-server.Server.ReadyNotify()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + server.Clients[0].Addr().String()},
		Logger: zap.NewNop()})
	must(err)
	return client
}

// stream is a watch stream, as clientv3 uses it for watches with the same context.
type stream struct{ pb.Watch_WatchClient }

func (s stream) open(key string, from int64) {
	must(s.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{
		CreateRequest: &pb.WatchCreateRequest{Key: []byte(key), StartRevision: from}}}))
}

func (s stream) progress() {
	must(s.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{
		ProgressRequest: &pb.WatchProgressRequest{}}}))
}

func (s stream) receive() *pb.WatchResponse {
	r, err := s.Recv()
	must(err)
	return r
}

// attempt opens two watches on a stream, and returns what the client receives about the second one.
func attempt(ctx context.Context, client *clientv3.Client, revision int64) (received []string, overtaken bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := pb.NewWatchClient(client.ActiveConnection()).Watch(ctx)
	must(err)
	s := stream{w}
	s.open("long", 0)
	s.receive()
	for range 8 { // more than a stream buffers, so that the server waits for the client to read
		_, err := client.Put(ctx, "long", strings.Repeat("x", 512<<10))
		must(err)
	}
	if !*control {
		s.progress()
	}
	s.open("key", revision)
	for range 100 { // the server takes the requests meanwhile
		_, err := client.Get(ctx, "key")
		must(err)
	}
	for open, progress := false, false; ; {
		switch r := s.receive(); {
		case r.Created:
			open = true
			received = append(received, "the watch of \"key\" is open")
			if *control {
				s.progress()
			}
		case r.WatchId == -1 && open: // clients ignore progress before that
			progress = true
			received = append(received, "all watches have received everything up to a revision that is later")
			if *control {
				return received, false
			}
		case len(r.Events) > 0 && string(r.Events[0].Kv.Key) == "key":
			received = append(received, fmt.Sprintf("the event of \"key\" at revision %d", r.Events[0].Kv.ModRevision))
			if !*control {
				return received, progress
			}
			s.progress() // the server does not answer while a watch lacks events
		}
	}
}

func main() {
	flag.Parse()
	dir, err := os.MkdirTemp("", "etcd")
	must(err)
	defer os.RemoveAll(dir)
	client := start(dir)
	ctx := context.Background()
	put, err := client.Put(ctx, "key", "1")
	must(err)
	revision := put.Header.Revision
	fmt.Printf("\"key\" is put at revision %d; a stream has a watch of other keys\n", revision)
	if *control {
		fmt.Printf("the client opens a watch of \"key\" from revision %d on, and then requests progress\n", revision)
	} else {
		fmt.Printf("the client requests progress, and opens a watch of \"key\" from revision %d on\n", revision)
	}
	for range 100 {
		received, overtaken := attempt(ctx, client, revision)
		if overtaken || *control && !strings.HasPrefix(received[1], "the event") {
			for _, r := range received {
				fmt.Println("the client receives:", r)
			}
			fmt.Println("BUG: the progress of a watch overtakes its event")
			os.RemoveAll(dir)
			os.Exit(1)
		}
	}
	fmt.Println("OK: in 100 attempts the event always comes first")
}
