package etcdserver

import (
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
)

// The connections on which members read each other's streams should end after five seconds of silence, and do not.
// The server gives its client a Dial that sets deadlines. It keeps the client's existing DialContext, which has
// priority. In 3.4 the client had no DialContext, so the connections end.
func TestStreamsHaveNoDeadlines(t *testing.T) {
	peer := httptest.NewServer(http.NotFoundHandler())
	defer peer.Close()
	streams, err := transport.NewTimeoutTransport(transport.TLSInfo{}, time.Second, 5*time.Second, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	connected, bare := false, false
	request, err := http.NewRequestWithContext(
		httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
			_, bare = i.Conn.(interface{ SetKeepAlive(bool) error }) // a connection with deadlines hides it
			connected = true
		}}),
		http.MethodGet,
		peer.URL,
		http.NoBody,
	)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := streams.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if !connected || bare == older {
		t.Errorf("connected: %v, without deadlines: %v", connected, bare)
	}
}
