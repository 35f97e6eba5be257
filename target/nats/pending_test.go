//go:build !lockstep_overlay

package nats

import (
	"fmt"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
)

// syncBlocks is the store's periodic sync of its files.
//
//go:linkname syncBlocks github.com/nats-io/nats-server/v2/server.(*fileStore).syncBlocks
func syncBlocks(unsafe.Pointer)

// plain is a single-node server with a stream whose messages are written some time after they were stored, like those
// of every replicated stream. There is no engine and no overlay, and time is real.
func plain(t *testing.T) server.StreamStore {
	t.Helper()
	s, err := server.NewServer(
		&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	conn, err := natsgo.Connect("", natsgo.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer, err := conn.Request(
		"$JS.API.STREAM.CREATE.plain",
		[]byte(
			`{"name": "plain", "subjects": ["plain"], "storage": "file", "num_replicas": 1, "persist_mode": "async"}`,
		),
		time.Minute,
	)
	if err != nil {
		t.Fatal(err)
	}
	in, err := lookupStream(s.GlobalAccount(), "plain")
	if err != nil {
		t.Fatal(err, string(answer.Data))
	}
	return streamStore(in)
}

// storeOld gives a store a message that is a minute old, as a server that catches up does.
func storeOld(store server.StreamStore, seq uint64) error {
	method := reflect.ValueOf(store).MethodByName("StoreRawMsg") // its last arguments differ between versions
	given := []any{"plain", []byte(nil), fmt.Append(nil, seq), seq, time.Now().Add(-time.Minute).UnixNano()}
	var args []reflect.Value
	for i := range method.Type().NumIn() {
		if i < len(given) {
			args = append(args, reflect.ValueOf(given[i]))
		} else {
			args = append(args, reflect.Zero(method.Type().In(i)))
		}
	}
	if err := method.Call(args)[0].Interface(); err != nil {
		return err.(error)
	}
	return nil
}

// A store has all its messages after it has synced its files. The store of v2.12.1 closes a file that seems to have
// had no write for half a minute, and drops its unwritten data. That happens after a pause of the process
// (nats-io/nats-server#7594), or with old messages, as here.
func TestPendingWritesStay(t *testing.T) {
	store := plain(t)
	file := reflect.ValueOf(store).UnsafePointer()
	const messages = 200
	lost := 0
	for seq := uint64(1); seq <= messages; seq++ {
		if err := storeOld(store, seq); err != nil {
			t.Fatal(seq, err)
		}
		syncBlocks(file)
		if _, err := store.LoadMsg(seq, &server.StoreMsg{}); err != nil {
			lost++
		}
	}
	t.Logf("%s: %d of %d lost", Version(), lost, messages)
	if fixed := Version() != "v2.12.1"; fixed != (lost == 0) {
		t.Errorf("%s: %d of %d messages are not there", Version(), lost, messages)
	}
}
