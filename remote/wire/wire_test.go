package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/remote/wire"
)

// schema compiles the definition.
func schema(t *testing.T) protoreflect.FileDescriptor {
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{"lockstep.proto": wire.Schema})}}
	files, err := compiler.Compile(context.Background(), "lockstep.proto")
	if err != nil {
		t.Fatal(err)
	}
	return files[0]
}

var (
	words  = rapid.StringN(0, 8, 40)
	data   = rapid.SliceOfN(rapid.Byte(), 0, 20)
	long   = rapid.Map(rapid.Uint64(), func(n uint64) wire.Long { return wire.Long(n) })
	hellos = rapid.Custom(func(t *rapid.T) wire.Hello {
		return wire.Hello{Node: rapid.Uint32().Draw(t, "node"), Info: rapid.MapOfN(words, words, 0, 3).Draw(t, "info")}
	})
	orders = rapid.Custom(func(t *rapid.T) *wire.Order {
		return &wire.Order{
			Kind:   wire.OrderKind(rapid.Uint32Range(0, 7).Draw(t, "kind")),
			Number: rapid.Uint32().Draw(t, "number"),
			Run: rapid.Uint32().
				Draw(t, "run"),
			Session:  rapid.Uint32().Draw(t, "session"),
			Nodes:    rapid.Uint32().Draw(t, "nodes"),
			Seed:     long.Draw(t, "seed"),
			Texts:    rapid.Bool().Draw(t, "texts"),
			From:     rapid.Uint32().Draw(t, "from"),
			Type:     words.Draw(t, "type"),
			Body:     data.Draw(t, "body"),
			Request:  rapid.Uint32().Draw(t, "request"),
			Text:     words.Draw(t, "text"),
			Now:      long.Draw(t, "now"),
			Replicas: rapid.SliceOfN(hellos, 0, 3).Draw(t, "replicas"),
		}
	})
	effects = rapid.Custom(func(t *rapid.T) wire.Effect {
		return wire.Effect{
			Kind:  wire.EffectKind(rapid.Uint32Range(0, 3).Draw(t, "kind")),
			To:    rapid.Uint32().Draw(t, "to"),
			Type:  words.Draw(t, "type"),
			Body:  data.Draw(t, "body"),
			Phase: rapid.Uint32().Draw(t, "phase"),
			Round: rapid.Uint32().Draw(t, "round"),
			Text:  words.Draw(t, "text"),
			After: long.Draw(t, "after"),
		}
	})
	reports = rapid.Custom(func(t *rapid.T) *wire.Report {
		return &wire.Report{
			Session: rapid.Uint32().Draw(t, "session"),
			Run:     rapid.Uint32().Draw(t, "run"),
			Done:    rapid.Uint32().Draw(t, "done"),
			Effects: rapid.SliceOfN(effects, 0, 4).
				Draw(t, "effects"),
			State: words.Draw(t, "state"),
			Role:  words.Draw(t, "role"),
		}
	})
)

// Both encodings agree with the definition, and the package reads messages that other encoders of the definition write.
func TestDefinition(t *testing.T) {
	file := schema(t)
	rapid.Check(t, func(t *rapid.T) {
		both(t, file.Messages().ByName("Order"), orders.Draw(t, "order"), func() any { return new(wire.Order) })
		both(t, file.Messages().ByName("Report"), reports.Draw(t, "report"), func() any { return new(wire.Report) })
		hello := hellos.Draw(t, "hello")
		both(t, file.Messages().ByName("Hello"), &hello, func() any { return new(wire.Hello) })
	})
}

func both(t *rapid.T, d protoreflect.MessageDescriptor, m any, fresh func() any) {
	written, err := wire.MarshalProto(m)
	if err != nil {
		t.Fatal(err)
	}
	theirs := dynamicpb.NewMessage(d)
	if err := proto.Unmarshal(written, theirs); err != nil {
		t.Fatal(err)
	}
	if len(theirs.GetUnknown()) > 0 {
		t.Fatalf("fields that the definition does not have: %x", theirs.GetUnknown())
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	fromText := dynamicpb.NewMessage(d)
	if err := protojson.Unmarshal(text, fromText); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if !proto.Equal(theirs, fromText) {
		t.Fatalf("as protocol buffers %v\nas JSON %v", theirs, fromText)
	}
	want, _ := json.Marshal(m)
	again := fresh()
	bytes, err := proto.MarshalOptions{}.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.UnmarshalProto(bytes, again); err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(again); string(got) != string(want) {
		t.Fatalf("read %s\nwant %s", got, want)
	}
	their, err := protojson.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	again = fresh()
	if err := json.Unmarshal(their, again); err != nil {
		t.Fatalf("%s: %v", their, err)
	}
	if got, _ := json.Marshal(again); string(got) != string(want) {
		t.Fatalf("read %s\nwant %s", got, want)
	}
}

// The names of kinds are those of the definition.
func TestKinds(t *testing.T) {
	file := schema(t)
	for _, c := range []struct {
		message string
		name    func(int) string
	}{
		{"Order", func(i int) string { return wire.OrderKind(i).String() }},
		{"Effect", func(i int) string { return wire.EffectKind(i).String() }},
	} {
		values := file.Messages().ByName(protoreflect.Name(c.message)).Enums().ByName("Kind").Values()
		for i := range values.Len() {
			if v := values.Get(i); int(v.Number()) != i || string(v.Name()) != c.name(i) {
				t.Errorf("%s: %s = %d, here %s", c.message, v.Name(), v.Number(), c.name(i))
			}
		}
	}
	var k wire.OrderKind
	if err := json.Unmarshal([]byte(`"DELIVRE"`), &k); err == nil ||
		!bytes.Contains([]byte(err.Error()), []byte("DELIVER")) {
		t.Errorf("%v", err)
	}
}

// The procedures are those of the definition.
func TestProcedures(t *testing.T) {
	service := schema(t).Services().ByName("Lockstep")
	var got []string
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		got = append(got, "/"+string(service.FullName())+"/"+string(m.Name()))
	}
	if diff := cmp.Diff([]string{wire.OrdersProcedure, wire.ReportsProcedure}, got); diff != "" {
		t.Error(diff)
	}
}

// Decoding of any input ends without a panic.
func FuzzRead(f *testing.F) {
	seed, err := wire.MarshalProto(
		&wire.Report{Session: 1, Effects: []wire.Effect{{To: 2, Type: "vote", Body: []byte("x")}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte{0xff, 0xff, 0xff})
	f.Add([]byte(`{"effects":[{"kind":"TIMER","after":"12"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range []any{new(wire.Report), new(wire.Order), new(wire.Hello)} {
			if wire.UnmarshalProto(b, m) == nil {
				if _, err := wire.MarshalProto(m); err != nil {
					t.Error(err)
				}
			}
			_ = json.Unmarshal(b, m)
		}
	})
}
