package etcdserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/trace"
)

// logged are the dial options of a client whose requests and answers a recorded run logs. Reports of members, which
// they make every few seconds, are left out.
func logged(n *bubble.Node) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, c *grpc.ClientConn,
			invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
			began := n.World().Now()
			err := invoke(ctx, method, request, reply, c, o...)
			if kind := method[strings.LastIndexByte(method, '/')+1:]; kind != "HashKV" {
				n.Log(sourceOf(kind), "", func() string {
					return fmt.Sprintf("%s %s -> %s (after %v)", kind, short(request), outcome(reply, err),
						(n.World().Now() - began).Round(time.Microsecond))
				})
			}
			return err
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string,
			open grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := open(ctx, d, c, method, o...)
			if err != nil {
				return s, err
			}
			return &loggedStream{s, n, method[strings.LastIndexByte(method, '/')+1:]}, nil
		}),
	}
}

// sourceOf reports the source of a request: the operator, or a client.
func sourceOf(kind string) string {
	switch kind {
	case "Range", "Put", "DeleteRange", "Txn", "LeaseGrant", "LeaseRevoke", "Authenticate", "Watch", "LeaseKeepAlive":
		return trace.LogClient
	}
	return trace.LogOperator
}

// loggedStream logs what travels on a stream, such as that of watches.
type loggedStream struct {
	grpc.ClientStream
	node *bubble.Node
	kind string
}

func (l *loggedStream) SendMsg(m any) error {
	err := l.ClientStream.SendMsg(m)
	l.node.Log(sourceOf(l.kind), "", func() string {
		return strings.TrimSpace(fmt.Sprintf("%s asks %s%s", l.kind, short(m), failure(err)))
	})
	return err
}

func (l *loggedStream) RecvMsg(m any) error {
	err := l.ClientStream.RecvMsg(m)
	if l.kind != "Snapshot" || err != nil { // not every part of a store
		l.node.Log(sourceOf(l.kind), "", func() string { return l.kind + " receives " + outcome(m, err) })
	}
	return err
}

func failure(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// short is a request as text.
func short(m any) string {
	switch r := m.(type) {
	case *etcdserverpb.PutRequest:
		lease := ""
		if r.Lease != 0 {
			lease = fmt.Sprintf(" with lease %x", r.Lease)
		}
		return fmt.Sprintf("%s=%s%s", r.Key, brief(r.Value), lease)
	case *etcdserverpb.RangeRequest:
		text := span(r.Key, r.RangeEnd)
		if r.Revision > 0 {
			text += fmt.Sprintf(" at revision %d", r.Revision)
		}
		if r.Serializable {
			text += " (serializable)"
		}
		return text
	case *etcdserverpb.DeleteRangeRequest:
		return span(r.Key, r.RangeEnd)
	case *etcdserverpb.CompactionRequest:
		if r.Physical {
			return fmt.Sprintf("up to revision %d, waiting until it is done", r.Revision)
		}
		return fmt.Sprintf("up to revision %d", r.Revision)
	case *etcdserverpb.TxnRequest:
		return txnText(r)
	case *etcdserverpb.WatchRequest:
		return watchText(r)
	case fmt.Stringer:
		return strings.TrimSpace(r.String())
	}
	return fmt.Sprint(m)
}

// txnText is a transaction as text: "if a=3 then Put a=4 else Range a".
func txnText(r *etcdserverpb.TxnRequest) string {
	var all []string
	for _, c := range r.GetCompare() {
		is := brief(c.GetValue())
		if is == "" {
			is = fmt.Sprintf("0 (%s)", strings.ToLower(c.GetTarget().String()))
		}
		all = append(all, fmt.Sprintf("%s=%s", c.GetKey(), is))
	}
	text := ""
	if len(all) > 0 {
		text = "if " + strings.Join(all, " and ") + " "
	}
	text += "then " + opsText(r.GetSuccess())
	if len(r.GetFailure()) > 0 {
		text += " else " + opsText(r.GetFailure())
	}
	return text
}

func opsText(list []*etcdserverpb.RequestOp) string {
	parts := []string{}
	for _, o := range list {
		switch {
		case o.GetRequestPut() != nil:
			parts = append(parts, "Put "+short(o.GetRequestPut()))
		case o.GetRequestRange() != nil:
			parts = append(parts, "Range "+short(o.GetRequestRange()))
		case o.GetRequestDeleteRange() != nil:
			parts = append(parts, "DeleteRange "+short(o.GetRequestDeleteRange()))
		case o.GetRequestTxn() != nil:
			parts = append(parts, "("+txnText(o.GetRequestTxn())+")")
		}
	}
	return strings.Join(parts, ", ")
}

func span(from, to []byte) string {
	switch {
	case len(to) == 0:
		return string(from)
	case len(to) == 1 && to[0] == 0:
		return fmt.Sprintf("all keys from %q on", from)
	}
	return fmt.Sprintf("keys %q up to %q", from, to)
}

func watchText(r *etcdserverpb.WatchRequest) string {
	switch {
	case r.GetCreateRequest() != nil:
		c := r.GetCreateRequest()
		from := "from now on"
		if c.StartRevision > 0 {
			from = fmt.Sprintf("from revision %d on", c.StartRevision)
		}
		return fmt.Sprintf("for a watch of %s %s", span(c.Key, c.RangeEnd), from)
	case r.GetCancelRequest() != nil:
		return fmt.Sprintf("to cancel watch id %d", r.GetCancelRequest().WatchId)
	}
	return "for progress"
}

// outcome is an answer, or the error, as text.
func outcome(m any, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	text := "ok"
	switch r := m.(type) {
	case *etcdserverpb.RangeResponse:
		text = keysText(r)
	case *etcdserverpb.DeleteRangeResponse:
		text = fmt.Sprintf("%d deleted", r.Deleted)
	case *etcdserverpb.TxnResponse:
		text = fmt.Sprintf("succeeded: %v", r.Succeeded)
	case *etcdserverpb.WatchResponse:
		text = watchedText(r)
	case *etcdserverpb.LeaseGrantResponse:
		text = fmt.Sprintf("lease %x for %d s", r.ID, r.TTL)
	}
	if r, ok := m.(interface {
		GetHeader() *etcdserverpb.ResponseHeader
	}); ok && r.GetHeader() != nil && r.GetHeader().Revision > 0 {
		text += fmt.Sprintf(", revision %d", r.GetHeader().Revision)
	}
	return text
}

func keysText(r *etcdserverpb.RangeResponse) string {
	parts := []string{}
	for _, kv := range r.Kvs {
		parts = append(parts, fmt.Sprintf("%s=%s (of revision %d)", kv.Key, brief(kv.Value), kv.ModRevision))
	}
	if len(parts) == 0 {
		return "no keys"
	}
	return strings.Join(parts, ", ")
}

func watchedText(r *etcdserverpb.WatchResponse) string {
	text := fmt.Sprintf("watch id %d:", r.WatchId)
	switch {
	case r.Created && r.CancelReason == "":
		return text + " created"
	case r.Canceled && r.CompactRevision > 0:
		return fmt.Sprintf("%s canceled, compacted up to revision %d", text, r.CompactRevision)
	case r.Canceled:
		return strings.TrimSpace(text + " canceled " + r.CancelReason)
	case len(r.Events) == 0:
		return text + " progress"
	}
	for _, e := range r.Events {
		if e.Type == clientv3.EventTypeDelete {
			text += fmt.Sprintf(" %d: %s deleted,", e.Kv.ModRevision, e.Kv.Key)
		} else {
			text += fmt.Sprintf(" %d: %s=%s,", e.Kv.ModRevision, e.Kv.Key, brief(e.Kv.Value))
		}
	}
	return strings.TrimSuffix(text, ",")
}
