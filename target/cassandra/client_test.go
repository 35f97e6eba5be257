package cassandra

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// A client of either protocol version sends the correct bytes, and accepts a response with or without warnings.
// Anything that is not a response in its version is an error, and the connection is not used again.
func TestClient(t *testing.T) {
	const query = "\x00\x00\x00\x03ABC\x00\x04\x10\x00\x08"
	rows := "\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x01\x00\x01k\x00\x01t" +
		"\x00\x01v\x00\x0d\x00\x00\x00\x01\x00\x00\x00\x01A"
	startup := "\x00\x01\x00\x0bCQL_VERSION\x00\x053.0.0"
	for _, c := range []struct {
		protocol    byte
		said        string
		ready, then string
		want        string
	}{
		{
			early,
			"\x02\x00\x00\x01\x00\x00\x00\x16" + startup + "\x02\x00\x00\x07\x00\x00\x00\x0c" + query,
			"\x82\x00\x00\x02\x00\x00\x00\x00",
			"\x82\x00\x00\x08\x00\x00\x00\x20" + rows,
			"[map[v:A]] <nil>",
		},
		{
			late,
			"\x04\x00\x00\x00\x01\x00\x00\x00\x16" + startup + "\x04\x00\x00\x00\x07\x00\x00\x00\x0c" + query,
			"\x84\x00\x00\x00\x02\x00\x00\x00\x00",
			"\x84\x00\x00\x00\x08\x00\x00\x00\x20" + rows,
			"[map[v:A]] <nil>",
		},
		{
			late,
			"",
			"\x84\x00\x00\x00\x02\x00\x00\x00\x00",
			"\x84\x08\x00\x00\x08\x00\x00\x00\x26\x00\x01\x00\x02no" + rows,
			"[map[v:A]] <nil>",
		},
		{
			late,
			"",
			"\x84\x00\x00\x00\x02\x00\x00\x00\x00",
			"\x84\x08\x00\x00\x08\x00\x00\x00\x05\x00\x01\x00\x02n",
			"[] cassandra: a truncated answer",
		},
		{
			late,
			"",
			"\x84\x00\x00\x00\x02\x00\x00\x00\x00",
			"\x84\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x10\x00\x00\x02no",
			"[] no (0x1000)",
		},
		{
			late,
			"",
			"\x84\x00\x00\x00\x02\x00\x00\x00\x00",
			"\x84\x00\x00\x00\x02\x00\x00\x00\x00",
			"[] cassandra: answer 2 to a statement",
		},
		{late, "", "\x84\x00\x00\x00\x08\x00\x00\x00\x00", "", "[] cassandra: answer 8 to a greeting"},
		{
			late,
			"",
			"\x82\x00\x00\x02\x00\x00\x00\x00\x00",
			"",
			"[] cassandra: an answer of version 0x82 with flags 0x0 and 0 bytes, where 0x84 is expected",
		},
		{
			late,
			"",
			"\x84\x01\x00\x00\x02\x00\x00\x00\x00",
			"",
			"[] cassandra: an answer of version 0x84 with flags 0x1 and 0 bytes, where 0x84 is expected",
		},
		{
			late,
			"",
			"\x84\x00\x00\x00\x02\xff\x00\x00\x00",
			"",
			"[] cassandra: an answer of version 0x84 with flags 0x0 and 4278190080 bytes, where 0x84 is expected",
		},
	} {
		near, far := net.Pipe()
		said := make(chan string)
		go answers(far, c.protocol, []string{c.ready, c.then}, said)
		speaker := &client{protocol: c.protocol, conn: near}
		err := speaker.greet(t.Context())
		var got []row
		if err == nil {
			got, err = speaker.query(t.Context(), "ABC", quorum)
		}
		_ = near.Close()
		if words := fmt.Sprint(got, " ", err); words != c.want {
			t.Errorf("%q: %s, and not %s", c.then, words, c.want)
		}
		if text := <-said; c.said != "" && text != c.said {
			t.Errorf("it said %q, and not %q", text, c.said)
		}
		if refused := strings.Contains(c.want, "no ("); (speaker.conn == nil) != (err != nil && !refused) {
			t.Errorf("%s: the connection is %v", c.want, speaker.conn)
		}
	}
}

// answers responds to frames, one after the other, until the connection ends, and records the requests.
func answers(conn net.Conn, protocol byte, with []string, said chan<- string) {
	var all bytes.Buffer
	defer func() { _ = conn.Close(); said <- all.String() }()
	size := len((&client{protocol: protocol}).head(0)) + 4
	for _, answer := range with {
		head := make([]byte, size)
		if _, err := io.ReadFull(io.TeeReader(conn, &all), head); err != nil {
			return
		}
		if _, err := io.CopyN(&all, conn, int64(head[size-1])); err != nil {
			return
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// Any server response yields rows, a server error or a parse error.
func FuzzAnswer(f *testing.F) {
	f.Add(
		[]byte(
			"\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x01\x00\x01k\x00\x01t" +
				"\x00\x01v\x00\x0d\x00\x00\x00\x01\x00\x00\x00\x01A",
		),
	)
	f.Add([]byte("\x00\x00\x11\x00\x00\x04slow\x00\x04\x00\x00\x00\x01\x00\x00\x00\x02\x00\x03CAS"))
	f.Add([]byte("\x00\x02\x00\x02no\x00\x00rest"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if rows, err := result(answer); err != nil && rows != nil {
			t.Errorf("%v, %v", rows, err)
		}
		_ = complaint(answer).Error()
		if rest := unwarned(answer); rest != nil && !bytes.HasSuffix(answer, rest) {
			t.Errorf("%q is not the rest of %q", rest, answer)
		}
	})
}
