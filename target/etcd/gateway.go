package etcd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/lockstep-go/lockstep/kit/kv"
)

// gateway is the client of one server's JSON gateway. Bytes are in base 64 there, which package json writes and reads.
type gateway struct {
	address string
	client  *http.Client
}

// keyValue is a key with its value.
type keyValue struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// rangeRequest requests one key.
type rangeRequest struct {
	Key          []byte `json:"key"`
	Serializable bool   `json:"serializable,omitempty"`
}

type rangeResponse struct {
	Kvs []keyValue `json:"kvs"`
}

// compare is a condition of a transaction: on the value, or on the version, which is 0 for a missing key.
type compare struct {
	Key     []byte `json:"key"`
	Target  string `json:"target"`
	Result  string `json:"result"`
	Value   []byte `json:"value,omitempty"`
	Version *int64 `json:"version,omitempty"`
}

// operation is one operation of a transaction.
type operation struct {
	Put *keyValue     `json:"requestPut,omitempty"`
	Get *rangeRequest `json:"requestRange,omitempty"`
}

type transaction struct {
	Compare []compare   `json:"compare"`
	Success []operation `json:"success"`
	Failure []operation `json:"failure"`
}

type transacted struct {
	Succeeded bool `json:"succeeded"`
	Responses []struct {
		Range *rangeResponse `json:"response_range"`
	} `json:"responses"`
}

// call makes a call and reads the response.
func (g *gateway) call(ctx context.Context, method string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		"http://"+g.address+"/v3/kv/"+method,
		bytes.NewReader(body),
	)
	if err != nil {
		return err
	}
	response, err := g.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("etcd: %s: %.200s", response.Status, text)
	}
	return json.Unmarshal(text, answer)
}

// get reads a key; a missing one has the value 0.
func (g *gateway) get(ctx context.Context, key string, serializable bool) (kv.Value, error) {
	var r rangeResponse
	if err := g.call(ctx, "range", rangeRequest{[]byte(key), serializable}, &r); err != nil {
		return kv.Value{}, err
	}
	return r.value()
}

func (r *rangeResponse) value() (kv.Value, error) {
	if len(r.Kvs) == 0 {
		return kv.Value{}, nil
	}
	n, err := strconv.ParseInt(string(r.Kvs[0].Value), 10, 32)
	return kv.Value{Number: int32(n)}, err
}

func written(value int32) []byte { return strconv.AppendInt(nil, int64(value), 10) }

// do performs a client's operation. After an error it may have taken effect or not.
func (g *gateway) do(ctx context.Context, prefix string, o kv.Op, serializable bool) (r kv.Result, err error) {
	key := prefix + kv.KeyName(o.Key)
	switch o.Kind {
	case kv.Put:
		r = kv.Result{Value: kv.Value{Number: o.Value}, OK: true}
		err = g.call(ctx, "put", keyValue{[]byte(key), written(o.Value)}, &struct{}{})
	case kv.Get:
		r.OK = true
		r.Value, err = g.get(ctx, key, serializable)
	case kv.Cas:
		r, err = g.cas(ctx, key, o.Old, o.Value)
	default:
		err = fmt.Errorf("etcd: the target has no operation %s", &o)
	}
	return r, err
}

// cas sets a key to a value if it holds another.
func (g *gateway) cas(ctx context.Context, key string, old, value int32) (kv.Result, error) {
	is := compare{Key: []byte(key), Target: "VALUE", Result: "EQUAL", Value: written(old)}
	if old == 0 { // the key is missing
		is = compare{Key: []byte(key), Target: "VERSION", Result: "EQUAL", Version: new(int64)}
	}
	var done transacted
	err := g.call(
		ctx,
		"txn",
		transaction{Compare: []compare{is}, Success: []operation{{Put: &keyValue{[]byte(key), written(value)}}},
			Failure: []operation{{Get: &rangeRequest{Key: []byte(key)}}}},
		&done,
	)
	switch {
	case err != nil:
		return kv.Result{}, err
	case done.Succeeded:
		return kv.Result{Value: kv.Value{Number: value}, OK: true}, nil
	case len(done.Responses) != 1 || done.Responses[0].Range == nil:
		return kv.Result{}, fmt.Errorf("etcd: the refusal of a transaction lacks the value of %s", key)
	}
	now, err := done.Responses[0].Range.value()
	return kv.Result{Value: now}, err
}
