package cassandra

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// client speaks CQL with one server, a statement at a time. It tries nothing twice and asks nobody else.
type client struct {
	address  string
	protocol byte     // its version, 2 or 4
	conn     net.Conn // nil: it is dialled with the next statement
}

// Versions of the protocol: servers of 2.0 speak the first, and those since 4.0 the second.
const (
	early = 2
	late  = 4
)

// Consistency of a statement: who must have heard of it.
const (
	quorum uint16 = 4
	all    uint16 = 5
	serial uint16 = 8
)

// Codes of what is sent and answered.
const (
	opError   = 0
	opStartup = 1
	opReady   = 2
	opQuery   = 7
	opResult  = 8
)

// trouble is what a server answers when it could not do what it was asked for.
type trouble struct {
	code uint32
	text string
	kind string // of a write that took too long: see slow
}

// slow is a write that took too long.
const slow = 0x1100

// decided reports whether the transaction was decided all the same, and only those who are to learn of it were too slow: then the write that took too long is no
// CAS, but a simple one.
func (t *trouble) decided() bool { return t.code == slow && t.kind == "SIMPLE" }

// Error is the server's words.
func (t *trouble) Error() string { return fmt.Sprintf("%s (%#x)", t.text, t.code) }

// row is one of a result, by the names of columns. What has no value is not in it.
type row map[string]string

// query makes a statement and returns the rows that it is answered with. Whatever goes wrong with the connection ends it.
func (c *client) query(ctx context.Context, statement string, consistency uint16) (rows []row, err error) {
	var refused *trouble
	defer func() {
		if err != nil && !errors.As(err, &refused) {
			c.close()
		}
	}()
	if c.conn == nil {
		if err := c.dial(ctx); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, c.interrupt(c.conn))
	defer stop()
	body := append(binary.BigEndian.AppendUint32(nil, uint32(len(statement))), statement...)
	body = binary.BigEndian.AppendUint16(body, consistency)
	body = binary.BigEndian.AppendUint16(append(body, 0x10), serial) // the flag says that the latter is there
	op, answer, err := c.ask(opQuery, body)
	if err == nil && op != opResult {
		err = fmt.Errorf("cassandra: answer %d to a statement", op)
	}
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	return result(answer)
}

// interrupt lets what waits on a connection wait no longer.
func (c *client) interrupt(conn net.Conn) func() {
	return func() { _ = conn.SetDeadline(time.Unix(1, 0)) }
}

// dial makes the connection, and greets.
func (c *client) dial(ctx context.Context) (err error) {
	if c.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", c.address); err != nil {
		c.conn = nil
		return err
	}
	return c.greet(ctx)
}

// greet is what a connection begins with. Where it goes wrong the connection ends.
func (c *client) greet(ctx context.Context) error {
	stop := context.AfterFunc(ctx, c.interrupt(c.conn))
	defer stop()
	var body []byte
	for _, word := range []string{"\x00\x01", "\x00\x0bCQL_VERSION", "\x00\x053.0.0"} { // a map of one
		body = append(body, word...)
	}
	op, _, err := c.ask(opStartup, body)
	if err == nil && op != opReady {
		err = fmt.Errorf("cassandra: answer %d to a greeting", op)
	}
	if err != nil {
		c.close()
	}
	return err
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close()
	}
	c.conn = nil
}

// The bits of a frame's head that matter, and how long an answer may be.
const (
	response  = 0x80 // of the version: it is an answer
	warned    = 0x08 // of the flags: warnings come before the answer
	maxAnswer = 16 << 20
)

// head is that of a frame, without its length: version, flags, the number of a stream and what the frame is. Ours has no flags and number 0, which takes a
// byte in early versions and two in late ones.
func (c *client) head(op byte) []byte {
	if c.protocol == early {
		return []byte{early, 0, 0, op}
	}
	return []byte{c.protocol, 0, 0, 0, op}
}

// ask sends a frame and reads the answer.
func (c *client) ask(op byte, body []byte) (byte, []byte, error) {
	frame := binary.BigEndian.AppendUint32(c.head(op), uint32(len(body)))
	size := len(frame)
	if _, err := c.conn.Write(append(frame, body...)); err != nil {
		return 0, nil, err
	}
	head := make([]byte, size)
	if _, err := io.ReadFull(c.conn, head); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[size-4:])
	if head[0] != response|c.protocol || head[1]&^warned != 0 || length > maxAnswer {
		return 0, nil, fmt.Errorf("cassandra: an answer of version %#x with flags %#x and %d bytes, where %#x is expected", head[0], head[1], length, response|c.protocol)
	}
	answer := make([]byte, length)
	if _, err := io.ReadFull(c.conn, answer); err != nil {
		return 0, nil, err
	}
	if head[1]&warned != 0 {
		if answer = unwarned(answer); answer == nil {
			return 0, nil, errShort
		}
	}
	if op = head[size-5]; op == opError {
		return 0, nil, complaint(answer)
	}
	return op, answer, nil
}

var errShort = errors.New("cassandra: an answer that is cut short")

// unwarned is an answer without the warnings before it, or nil where there is none.
func unwarned(answer []byte) []byte {
	r := reader{data: answer}
	for range r.number(2) {
		r.bytes(2)
	}
	if r.short {
		return nil
	}
	return answer[r.at:]
}

// complaint reads what went wrong.
func complaint(answer []byte) *trouble {
	r := reader{data: answer}
	t := &trouble{code: uint32(r.number(4)), text: string(r.bytes(2))}
	if t.code == slow {
		r.take(2 + 4 + 4) // the consistency, who answered, and who should have
		t.kind = string(r.bytes(2))
	}
	return t
}

// What there is in a result with rows.
const (
	kindRows  = 2
	flagTable = 1 // all columns are of one table, which is named once
	typeText  = 0x0d
	typeASCII = 0x01
	typeBool  = 0x04
)

// result reads rows whose columns are texts and booleans; other results have none.
func result(answer []byte) (rows []row, err error) {
	r := reader{data: answer}
	if r.number(4) != kindRows {
		return nil, nil
	}
	flags := r.number(4)
	names, kinds := make([]string, r.count()), []uint64{}
	if flags&flagTable != 0 {
		r.bytes(2)
		r.bytes(2)
	}
	for i := range names {
		if flags&flagTable == 0 {
			r.bytes(2)
			r.bytes(2)
		}
		names[i] = string(r.bytes(2))
		kinds = append(kinds, r.number(2))
		if k := kinds[i]; !r.short && k != typeText && k != typeASCII && k != typeBool {
			return nil, fmt.Errorf("cassandra: column %s is of type %#x", names[i], k)
		}
	}
	for range r.count() {
		one := row{}
		for i, name := range names {
			length := int32(r.number(4))
			if length < 0 {
				continue // it has no value
			}
			value := string(r.take(int(length)))
			if kinds[i] == typeBool {
				value = fmt.Sprint(value == "\x01")
			}
			one[name] = value
		}
		rows = append(rows, one)
	}
	if r.short {
		return nil, errShort
	}
	return rows, nil
}
