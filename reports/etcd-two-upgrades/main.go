// Command etcd-two-upgrades runs an etcd server in v3.5.35, then in v3.6.16 and then in v3.7.3, on one directory. Each
// one serves clients, agrees on its version as the cluster's, and is stopped in order. The last one does not start.
//
//	go run .             all servers take snapshots as seldom as they do by default
//	go run . -control    v3.6.16 takes a snapshot before it is stopped
//
// The exit status is 1 if the server does not start.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

var (
	control = flag.Bool("control", false, "let v3.6.16 take a snapshot")
	dir     = flag.String("dir", "", "run one server with files in this directory")
	often   = flag.Bool("often", false, "take a snapshot after every ten entries")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	if *dir != "" {
		serve()
		return
	}
	temporary, err := os.MkdirTemp("", "")
	must(err)
	defer os.RemoveAll(temporary)
	for _, v := range []string{"v3.5.35", "v3.6.16", "v3.7.3"} {
		if err := run(v, temporary, *control && v == "v3.6.16"); err != nil {
			fmt.Println("BUG:", v, "does not start:", err)
			os.RemoveAll(temporary)
			os.Exit(1)
		}
	}
	fmt.Println("OK: v3.7.3 starts")
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// run builds this program with a version of the server, and runs it.
func run(v, dir string, often bool) error {
	binary := filepath.Join(dir, v)
	build := exec.Command("go", "build", "-modfile=versions/"+v+".mod", "-o", binary, ".")
	build.Env = append(os.Environ(), "GOWORK=off")
	build.Stderr = os.Stderr
	must(build.Run())
	server := exec.Command(binary, "-dir="+filepath.Join(dir, "data"), fmt.Sprintf("-often=%t", often))
	server.Stdout = os.Stdout
	var errors strings.Builder
	server.Stderr = &errors
	if server.Run() == nil {
		return nil
	}
	for line := range strings.SplitSeq(errors.String(), "\n") {
		if text, ok := strings.CutPrefix(line, "panic: "); ok {
			text = strings.ReplaceAll(text, "\u00a0", " ") // of the library for protocol buffers, in some builds
			return fmt.Errorf("%s", strings.TrimSuffix(text, " [recovered]"))
		}
	}
	return fmt.Errorf("%s", errors.String())
}

// serve runs one server until the cluster has agreed on its version.
func serve() {
	c := embed.NewConfig()
	c.Dir = *dir
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	if *often {
		c.SnapshotCount = 10
	}
	peers, clients := []url.URL{address()}, []url.URL{address()}
	c.ListenPeerUrls, c.AdvertisePeerUrls = peers, peers
	c.ListenClientUrls, c.AdvertiseClientUrls = clients, clients
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	etcd, err := embed.StartEtcd(c)
	must(err)
	<-etcd.Server.ReadyNotify()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{clients[0].String()}})
	must(err)
	for range 20 {
		_, err = client.Put(context.Background(), "key", version.Version)
		must(err)
	}
	line := version.Version[:len("3.5.")] + "0"
	for etcd.Server.ClusterVersion().String() != line {
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Printf("v%s serves clients, the cluster's version is %s\n", version.Version, line)
	must(client.Close())
	etcd.Close()
}

// address returns the URL of a free port on the loopback.
func address() url.URL {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}
}
