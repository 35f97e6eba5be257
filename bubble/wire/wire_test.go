package wire_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/rpc"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lockstep-go/lockstep/bubble/wire"
)

// tap is an end of a connection that records its writes.
type tap struct {
	net.Conn
	dialer bool
	tape   *tape
}

// tape is the record of what both ends wrote.
type tape struct {
	mutex  sync.Mutex
	writes []written
}

type written struct {
	byDialer bool
	data     []byte
}

func (t tap) Write(data []byte) (int, error) {
	t.tape.mutex.Lock()
	t.tape.writes = append(t.tape.writes, written{t.dialer, bytes.Clone(data)})
	t.tape.mutex.Unlock()
	return t.Conn.Write(data)
}

// single is a listener that accepts one connection.
type single struct {
	conn chan net.Conn
	done chan struct{}
}

func (s *single) Accept() (net.Conn, error) {
	select {
	case c := <-s.conn:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}
func (s *single) Close() error   { close(s.done); return nil }
func (s *single) Addr() net.Addr { return &net.TCPAddr{} }

// connect makes a connection with a record on tape.
func connect() (dialer net.Conn, l *single, t *tape) {
	a, b := net.Pipe()
	t = &tape{}
	l = &single{conn: make(chan net.Conn, 1), done: make(chan struct{})}
	l.conn <- tap{b, false, t}
	return tap{a, true, t}, l, t
}

// play passes the tape to a decoder, in pieces of at most so many bytes, and returns the types, by direction.
func (t *tape) play(p wire.Protocol, most int) (out, back []string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	d := p(wire.Conn{Name: "1>2:80#1", Port: 80})
	for _, w := range t.writes {
		for part := range slices.Chunk(w.data, most) {
			kind, _ := d.Decode(w.byDialer, part)
			switch {
			case kind == "" || strings.HasSuffix(kind, "(more)"):
			case w.byDialer:
				out = append(out, kind)
			default:
				back = append(back, kind)
			}
		}
	}
	return out, back
}

// wants checks that the calls and answers occur in order, perhaps among others, whole and in pieces.
func (t *tape) wants(tt *testing.T, p wire.Protocol, calls, answers []string) {
	tt.Helper()
	for _, most := range []int{1 << 20, 7, 1} {
		out, back := t.play(p, most)
		if most < 1<<20 { // each frame of a message may have the name
			out, back = slices.Compact(out), slices.Compact(back)
		}
		if !within(calls, out) || !within(answers, back) {
			tt.Errorf("pieces of %d bytes: got %q and %q, want %q and %q", most, out, back, calls, answers)
		}
	}
}

func within(want, got []string) bool {
	for _, g := range got {
		if len(want) > 0 && want[0] == g {
			want = want[1:]
		}
	}
	return len(want) == 0
}

// browse sends a few requests to a server of net/http, by HTTP/1 or HTTP/2.
func browse(t *testing.T, two bool) *tape {
	var protocols http.Protocols
	protocols.SetHTTP1(!two)
	protocols.SetUnencryptedHTTP2(two)
	dialer, l, tape := connect()
	server := &http.Server{
		Protocols: &protocols,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if r.URL.Path == "/long" { // more than the server buffers, so it sends chunks
				for range 5 {
					_, _ = w.Write(bytes.Repeat([]byte("x"), 1000))
					w.(http.Flusher).Flush()
				}
			}
			w.Header().Set("Custom-Field", r.URL.Path+" äöü?{}\\|")
			fmt.Fprintln(w, "HTTP/1.1 200 is what answers begin with")
		}),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	transport := &http.Transport{
		Protocols:   &protocols,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return dialer, nil },
	}
	client := http.Client{Transport: transport}
	ask := func(method, path string, body io.Reader) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://server"+path, body)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	ask("GET", "/first?x=1", nil)
	ask("PUT", "/kv/a%20b", strings.NewReader("GET / HTTP/1.1\r\n\r\n"))
	ask("POST", "/long", io.MultiReader(strings.NewReader("in "), strings.NewReader("chunks")))
	ask("HEAD", "/first", nil)
	ask("GET", "/last", nil)
	transport.CloseIdleConnections()
	_ = server.Close()
	<-done
	return tape
}

func TestHTTP(t *testing.T) {
	calls := []string{"GET /first", "PUT /kv/a%20b", "POST /long", "HEAD /first", "GET /last"}
	var answers []string
	for _, c := range calls {
		answers = append(answers, c+" answer")
	}
	for name, two := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			tape := browse(t, two)
			p := map[bool]wire.Protocol{false: wire.HTTP1, true: wire.HTTP2}[two]
			tape.wants(t, p, calls, answers)
			out, back := tape.play(wire.Detect, 1<<20)
			if !within(calls, out) || !within(answers, back) {
				t.Errorf("detected: %q, %q", out, back)
			}
			// the decoder does not take bodies for messages
			if !two && (len(slices.Compact(out)) != len(calls) || len(slices.Compact(back)) != len(calls)) {
				t.Errorf("%q, %q", out, back)
			}
		})
	}
}

// Adder is a service of net/rpc.
type Adder struct{}

// Add adds.
func (Adder) Add(args [2]int, sum *int) error {
	if *sum = args[0] + args[1]; *sum > 300 {
		return fmt.Errorf("too much")
	}
	return nil
}

// Join joins.
func (Adder) Join(args []string, all *string) error { *all = strings.Join(args, ""); return nil }

func TestNetRPC(t *testing.T) {
	dialer, l, tape := connect()
	server := rpc.NewServer()
	if err := server.Register(Adder{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		c, _ := l.Accept()
		server.ServeConn(c)
		close(done)
	}()
	client := rpc.NewClient(dialer)
	var sum int
	var all string
	for i := range 2 {
		_ = client.Call("Adder.Add", [2]int{100, 200 * i}, &sum)
		_ = client.Call("Adder.Join", []string{"a", "b", strings.Repeat("c", 300)}, &all)
	}
	_ = client.Call("Adder.Add", [2]int{1000, 1000}, &sum)
	_ = client.Close()
	<-done
	calls := []string{"Adder.Add", "Adder.Join", "Adder.Add", "Adder.Join", "Adder.Add"}
	answers := []string{
		"Adder.Add answer",
		"Adder.Join answer",
		"Adder.Add answer",
		"Adder.Join answer",
		"Adder.Add answer",
	}
	tape.wants(t, wire.NetRPC, calls, answers)
	if out, back := tape.play(wire.Detect, 1<<20); !within(calls, out) || !within(answers, back) {
		t.Errorf("detected: %q, %q", out, back)
	}
	d := wire.NetRPC(wire.Conn{})
	last := ""
	for _, w := range tape.writes {
		if _, text := d.Decode(w.byDialer, w.data); !w.byDialer {
			last = text
		}
	}
	if last != "seq=4 error=too much" {
		t.Errorf("the last answer is %q", last)
	}
}

func TestFramed(t *testing.T) {
	name := func(byDialer bool, payload []byte) (string, string) {
		return fmt.Sprint(byDialer, " ", payload[0]), string(payload[1:])
	}
	for _, bytes := range []int{1, 2, 4, 8} {
		var data []byte
		for i := range 3 {
			switch bytes {
			case 1:
				data = append(data, 3)
			case 2:
				data = binary.BigEndian.AppendUint16(data, 3)
			case 4:
				data = binary.BigEndian.AppendUint32(data, 3)
			case 8:
				data = binary.BigEndian.AppendUint64(data, 3)
			}
			data = append(data, byte(i), 'a', 'b')
		}
		tape := &tape{writes: []written{{true, data}, {false, data}}}
		p := wire.LengthPrefixed(bytes, binary.BigEndian, name)
		out, back := tape.play(p, 1)
		if fmt.Sprint(out, back) != "[true 0 true 1 true 2] [false 0 false 1 false 2]" {
			t.Errorf("%d bytes: %q %q", bytes, out, back)
		}
		kind, text := p(wire.Conn{}).Decode(true, data)
		if kind != "true 0" || text != "ab; true 1 ab; true 2 ab" {
			t.Errorf("%d bytes: %q %q", bytes, kind, text)
		}
	}
	lines := &tape{
		writes: []written{
			{true, []byte(`{"id":1,"type":"ping"}` + "\n" + `{"method":"pong","x":"` + "\\n" + `"}` + "\n")},
			{false, []byte("no json\n{\"x\":1}\n")},
		},
	}
	lines.wants(t, wire.JSONLines, []string{"ping"}, []string{"json"})
	if out, back := lines.play(wire.Detect, 5); fmt.Sprint(out, back) != "[ping pong] [json json]" {
		t.Errorf("%q %q", out, back)
	}
}

func TestPorts(t *testing.T) {
	one := wire.Each(func(data []byte) (string, string) { return "one", string(data) })
	p := wire.Ports(map[int]wire.Protocol{1: one, 0: wire.HTTP1})
	if kind, text := p(wire.Conn{Port: 1}).Decode(true, []byte("x")); kind+text != "onex" {
		t.Error(kind, text)
	}
	if kind, _ := p(wire.Conn{Port: 2}).Decode(true, []byte("GET /a HTTP/1.1\r\n\r\n")); kind != "GET /a" {
		t.Error(kind)
	}
	if wire.Ports(nil)(wire.Conn{Port: 3}) != nil || wire.Detect(wire.Conn{Datagrams: true}) != nil {
		t.Error("there is a decoder for an unknown protocol")
	}
}

// A server may speak first.
func TestServerFirst(t *testing.T) {
	d := wire.Detect(wire.Conn{Port: 80})
	if kind, _ := d.Decode(false, []byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00")); kind != "SETTINGS" {
		t.Error(kind)
	}
	if kind, _ := d.Decode(true, []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); kind != "preface" {
		t.Error(kind)
	}
	d = wire.Detect(wire.Conn{Port: 80})
	if kind, _ := d.Decode(false, []byte(`{"type":"welcome"}`+"\n{")); kind != "" {
		t.Error(kind)
	}
	if kind, _ := d.Decode(true, []byte(`{"type":"hello"}`+"\n")); kind != "hello" {
		t.Error(kind)
	}
	if kind, _ := d.Decode(false, []byte(`"type":"rest"}`+"\n")); kind != "rest" {
		t.Error(kind)
	}
}

// No data on a connection breaks a decoder.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"))
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x05\x01\x0c\x00\x00\x00\x01\xff\xff\xff\xff\xff"))
	f.Add([]byte("\x03\xff\xf8\x00\x7f\xff\xff\xff\xff"))
	f.Add([]byte("{\"type\":[1,{}]}\n{\n"))
	f.Add([]byte("\x16\x03\x01\xff\xff\x01"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		four := wire.LengthPrefixed(4, binary.LittleEndian, func(bool, []byte) (string, string) { return "x", "" })
		for _, p := range []wire.Protocol{
			wire.HTTP1, wire.HTTP2, wire.NetRPC, wire.JSONLines, wire.TLS, wire.Detect, four,
		} {
			d := p(wire.Conn{})
			for part := range slices.Chunk(data, 11) {
				d.Decode(true, part)
				d.Decode(false, part)
			}
		}
	})
}

func ExampleLengthPrefixed() {
	p := wire.LengthPrefixed(1, binary.BigEndian, func(_ bool, payload []byte) (string, string) {
		return map[byte]string{0: "ping", 1: "pong"}[payload[0]], string(payload[1:])
	})
	fmt.Println(p(wire.Conn{}).Decode(true, []byte("\x06\x00hello")))
	// Output: ping hello
}

func ExampleDetect() {
	d := wire.Detect(wire.Conn{Port: 80})
	fmt.Println(d.Decode(true, []byte("GET /status?all HTTP/1.1\r\nHost: node1\r\n\r\n")))
	fmt.Println(d.Decode(false, []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")))
	// Output:
	// GET /status all
	// GET /status answer 200 OK
}

// show prints what a protocol decodes from writes on a connection to a port. The dialer and the other end write in
// turn.
func show(p wire.Protocol, port int, writes ...string) {
	d := p(wire.Conn{Name: "1>2", Port: port})
	for i, w := range writes {
		if d == nil {
			fmt.Println("unknown")
			continue
		}
		kind, text := d.Decode(i%2 == 0, []byte(w))
		fmt.Println(strings.TrimSpace(kind + " " + text))
	}
}

// Every write is a message whose type is its first letter.
func ExampleEach() {
	show(wire.Each(func(data []byte) (kind, text string) { return "Letter" + string(data[:1]), string(data[1:]) }), 9,
		"A1", "B2")
	// Output:
	// LetterA 1
	// LetterB 2
}

// Ports chooses protocols by port; messages on other ports have no name.
func ExamplePorts() {
	p := wire.Ports(map[int]wire.Protocol{80: wire.HTTP1, 7000: wire.JSONLines})
	show(p, 80, "GET /key HTTP/1.1\r\nHost: node2\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
	show(p, 9, "unknown")
	show(p, 7000, "{\"type\":\"vote\",\"term\":3}\n")
	// Output:
	// GET /key
	// GET /key answer 200 OK
	// unknown
	// vote {"type":"vote","term":3}
}

// HTTP/2 opens with a preface. TLS shows only its records, and net/rpc its methods.
func ExampleDetect_protocols() {
	show(wire.HTTP2, 443, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	show(wire.TLS, 443, "\x16\x03\x01\x00\x01\x01")
	var b bytes.Buffer
	codec := gob.NewEncoder(&b)
	_ = codec.Encode(rpc.Request{ServiceMethod: "Adder.Add", Seq: 1})
	_ = codec.Encode([2]int{1, 2})
	show(wire.NetRPC, 1234, b.String())
	// Output:
	// preface
	// TLS handshake 1 bytes
	// Adder.Add seq=1
}
