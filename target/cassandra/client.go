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

// client speaks CQL with one server, a statement at a time, in version 2 of its protocol. It tries nothing twice and asks nobody else.
type client struct {
	address string
	conn    net.Conn // nil: it is dialled with the next statement
}

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
	kind string // of a write that took too long: see late
}

// late is a write that took too long.
const late = 0x1100

// decided reports whether the transaction was decided all the same, and only those who are to learn of it were too slow: then the write that took too long is no
// CAS, but a simple one.
func (t *trouble) decided() bool { return t.code == late && t.kind == "SIMPLE" }

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

func (c *client) dial(ctx context.Context) (err error) {
	if c.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", c.address); err != nil {
		c.conn = nil
		return err
	}
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
	return err
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close()
	}
	c.conn = nil
}

// The parts of a frame's head: version, flags, stream, code and length. An answer has a bit set in its version.
const (
	headBytes = 8
	version   = 2
	response  = 0x80
	maxAnswer = 16 << 20
)

// ask sends a frame and reads the answer.
func (c *client) ask(op byte, body []byte) (byte, []byte, error) {
	frame := binary.BigEndian.AppendUint32([]byte{version, 0, 0, op}, uint32(len(body)))
	if _, err := c.conn.Write(append(frame, body...)); err != nil {
		return 0, nil, err
	}
	var head [headBytes]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[4:])
	if head[0] != response|version || length > maxAnswer {
		return 0, nil, fmt.Errorf("cassandra: an answer of version %#x and %d bytes", head[0], length)
	}
	answer := make([]byte, length)
	if _, err := io.ReadFull(c.conn, answer); err != nil {
		return 0, nil, err
	}
	if head[3] == opError {
		return 0, nil, complaint(answer)
	}
	return head[3], answer, nil
}

// complaint reads what went wrong.
func complaint(answer []byte) *trouble {
	r := reader{data: answer}
	t := &trouble{code: uint32(r.number(4)), text: string(r.bytes(2))}
	if t.code == late {
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
		return nil, errors.New("cassandra: an answer that is cut short")
	}
	return rows, nil
}
