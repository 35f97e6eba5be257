package remote_test

import (
	"context"
	"net/http"
	"testing"

	"connectrpc.com/connect"

	"github.com/lockstep-go/lockstep/remote"
	"github.com/lockstep-go/lockstep/remote/wire"
)

// Replicas that use the two calls are served like those on a line, in all protocols that Connect supports.
func TestCalls(t *testing.T) {
	for name, options := range map[string][]connect.ClientOption{
		"connect": nil, "gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()},
	} {
		t.Run(name, func(t *testing.T) {
			url, d := listening(t, nil)
			protocols := new(http.Protocols)
			protocols.SetUnencryptedHTTP2(true)
			transport := &http.Transport{Protocols: protocols}
			defer transport.CloseIdleConnections()
			for n := range uint32(2) {
				go func() {
					_ = caller(t.Context(), &http.Client{Transport: authorized{transport}}, url, n+1,
						append(options, wire.Binary()))
				}()
			}
			if err := remote.AskAll(t.Context(), d, 10); err != nil {
				t.Error(err)
			}
		})
	}
}

// caller is a replica that uses the two calls and reports every order as done.
func caller(ctx context.Context, calls *http.Client, url string, node uint32, options []connect.ClientOption) error {
	orders, err := connect.NewClient[wire.Hello, wire.Order](calls, url+wire.OrdersProcedure, options...).
		CallServerStream(ctx, connect.NewRequest(&wire.Hello{Node: node}))
	if err != nil {
		return err
	}
	defer orders.Close()
	reports := connect.NewClient[wire.Report, wire.Bye](
		calls,
		url+wire.ReportsProcedure,
		options...).CallClientStream(ctx)
	for orders.Receive() {
		o := orders.Msg()
		if err := reports.Send(&wire.Report{Session: o.Session, Run: o.Run, Done: o.Number}); err != nil {
			return err
		}
	}
	return nil
}

// authorized sends the token with every request.
type authorized struct{ http.RoundTripper }

func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+secret)
	return a.RoundTripper.RoundTrip(r)
}
