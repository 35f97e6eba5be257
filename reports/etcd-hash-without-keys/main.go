// Command etcd-hash-without-keys runs three etcd servers with the check for corruption at the start of a member. One
// member is stopped, the others compact a store whose last key is deleted, and the stopped member refuses to start,
// although all three hold the same.
//
//	go run .             the store has one key, which is deleted
//	go run . -control    the store has another key
//
// The exit status is 1 if the member does not start.
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
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/pkg/v3/featuregate"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

var control = flag.Bool("control", false, "leave another key in the store")

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// address returns the URL of a free port on the loopback.
func address() url.URL {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}
}

// configs returns the configurations of three members.
func configs(dir string) (list [3]*embed.Config) {
	var members []string
	for i := range list {
		c := embed.NewConfig()
		c.Name, c.Dir = fmt.Sprint("member", i+1), filepath.Join(dir, fmt.Sprint(i+1))
		c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
		peers, clients := []url.URL{address()}, []url.URL{address()}
		c.ListenPeerUrls, c.AdvertisePeerUrls = peers, peers
		c.ListenClientUrls, c.AdvertiseClientUrls = clients, clients
		must(c.ServerFeatureGate.(featuregate.MutableFeatureGate).Set("InitialCorruptCheck=true"))
		members = append(members, c.Name+"="+peers[0].String())
		list[i] = c
	}
	for _, c := range list {
		c.InitialCluster = strings.Join(members, ",")
	}
	return list
}

// hash returns the hash of the first member's store at a revision, and the revision up to which it is compacted.
func hash(ctx context.Context, c *clientv3.Client, revision int64) string {
	r, err := c.HashKV(ctx, c.Endpoints()[0], revision)
	must(err)
	return fmt.Sprintf("hash %08x at revision %d, compacted up to %d", r.Hash, revision, r.CompactRevision)
}

func main() {
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "etcd")
	must(err)
	defer os.RemoveAll(dir)
	all := configs(dir)
	var members [3]*embed.Etcd
	for i, c := range all {
		members[i], err = embed.StartEtcd(c)
		must(err)
	}
	for _, m := range members {
		<-m.Server.ReadyNotify()
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{all[0].ListenClientUrls[0].String()},
		Logger: zap.NewNop()})
	must(err)

	if *control {
		_, err = client.Put(ctx, "another", "0")
		must(err)
	}
	_, err = client.Put(ctx, "key", "1")
	must(err)
	put, err := client.Put(ctx, "key", "2")
	must(err)
	_, err = client.Compact(ctx, put.Header.Revision, clientv3.WithCompactPhysical())
	must(err)
	gone, err := client.Delete(ctx, "key")
	must(err)
	revision := gone.Header.Revision
	fmt.Printf("the key is put twice, compacted up to revision %d, and deleted at revision %d\n", put.Header.Revision,
		revision)
	for members[2].Server.KV().Rev() < revision {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("member 1:", hash(ctx, client, revision))
	members[2].Close()
	fmt.Printf("member 3 has revision %d, too, and is stopped\n", revision)
	_, err = client.Compact(ctx, revision, clientv3.WithCompactPhysical())
	must(err)
	fmt.Printf("the others compact up to revision %d\n", revision)
	fmt.Println("member 1:", hash(ctx, client, revision))

	again, err := embed.StartEtcd(all[2])
	if err == nil {
		<-again.Server.ReadyNotify()
		fmt.Println("OK: member 3 starts")
		return
	}
	_, text, _ := strings.Cut(err.Error(), " ") // without the ID of the member
	fmt.Println("member 3 is started:", text)
	fmt.Println("BUG: a member with the same store as the others does not start")
	os.RemoveAll(dir)
	os.Exit(1)
}
