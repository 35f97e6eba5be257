// Command etcd-streams-without-deadlines makes the HTTP transport with which members of an etcd cluster read each
// other's streams, with a timeout of a second for each read. A peer sends the beginning of a stream and then nothing.
// The read waits although the timeout has passed.
//
//	go run .             the transport as NewTimeoutTransport makes it
//	go run . -control    without its DialContext, so that it uses its Dial, which sets the deadlines
//
// The exit status is 1 if the read does not time out.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
)

var control = flag.Bool("control", false, "remove the DialContext of the transport")

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	flag.Parse()
	silent := make(chan struct{})
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "stream")
		w.(http.Flusher).Flush()
		<-silent
	}))
	streams, err := transport.NewTimeoutTransport(transport.TLSInfo{}, time.Second, time.Second, time.Second)
	must(err)
	if *control {
		streams.DialContext = nil
	}
	request, err := http.NewRequest(http.MethodGet, peer.URL, http.NoBody)
	must(err)
	answer, err := streams.RoundTrip(request)
	must(err)
	fmt.Println("a member reads the stream of a peer, with a timeout of a second for each read")
	ended := make(chan error, 1)
	go func() {
		buffer := make([]byte, 100)
		n, err := answer.Body.Read(buffer)
		fmt.Printf("it reads %q; then the peer is silent\n", buffer[:n])
		if err == nil {
			_, err = answer.Body.Read(buffer)
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		fmt.Println("the read ends:", err != nil)
		fmt.Println("OK: the member notices")
	case <-time.After(20 * time.Second):
		fmt.Println("BUG: 20 seconds later the read still waits")
		os.Exit(1)
	}
}
