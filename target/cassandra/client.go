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

// client speaks CQL with one server, one statement at a time. It does not retry, and contacts no other server.
type client struct {
	address  string
	protocol byte     // its version, 2 or 4
	conn     net.Conn // nil: the next statement dials it
}

// Versions of the protocol: servers of 2.0 speak the first, and those since 4.0 the second.
const (
	early = 2
	late  = 4
)

// The consistency level of a statement.
const (
	quorum uint16 = 4
	all    uint16 = 5
	serial uint16 = 8
)

// Opcodes of requests and responses.
const (
	opError   = 0
	opStartup = 1
	opReady   = 2
	opQuery   = 7
	opResult  = 8
)

// trouble is a server's error response.
type trouble struct {
	code uint32
	text string
	kind string // of a write that timed out: see slow
}

// slow is a write timeout.
const slow = 0x1100

// decided reports whether the transaction was nevertheless decided, and only the replicas that learn of it timed out.
// The write type is then SIMPLE, not CAS.
func (t *trouble) decided() bool { return t.code == slow && t.kind == "SIMPLE" }

// Error returns the server's message.
func (t *trouble) Error() string { return fmt.Sprintf("%s (%#x)", t.text, t.code) }

// row is a row of a result, by column name. It omits columns without a value.
type row map[string]string

// query executes a statement and returns the rows of the result. Any connection error closes the connection.
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
	// the flag declares that the serial consistency is present
	body = binary.BigEndian.AppendUint16(append(body, 0x10), serial)
	op, answer, err := c.ask(opQuery, body)
	if err == nil && op != opResult {
		err = fmt.Errorf("cassandra: answer %d to a statement", op)
	}
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	return result(answer)
}

// interrupt unblocks pending operations on a connection when the context ends.
func (c *client) interrupt(conn net.Conn) func() {
	return func() { _ = conn.SetDeadline(time.Unix(1, 0)) }
}

// dial opens the connection, and performs the handshake.
func (c *client) dial(ctx context.Context) (err error) {
	if c.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", c.address); err != nil {
		c.conn = nil
		return err
	}
	return c.greet(ctx)
}

// greet performs the handshake. An error closes the connection.
func (c *client) greet(ctx context.Context) error {
	stop := context.AfterFunc(ctx, c.interrupt(c.conn))
	defer stop()
	var body []byte
	for _, word := range []string{"\x00\x01", "\x00\x0bCQL_VERSION", "\x00\x053.0.0"} { // a map with one entry
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

// The relevant bits of a frame header, and the maximum length of a response.
const (
	response  = 0x80 // of the version: it is a response
	warned    = 0x08 // of the flags: warnings precede the response
	maxAnswer = 16 << 20
)

// head returns a frame header without its length: version, flags, stream number and opcode. Our frames have no flags
// and stream 0, which takes a byte in early versions and two in late ones.
func (c *client) head(op byte) []byte {
	if c.protocol == early {
		return []byte{early, 0, 0, op}
	}
	return []byte{c.protocol, 0, 0, 0, op}
}

// ask sends a frame and reads the response.
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
		return 0, nil, fmt.Errorf(
			"cassandra: an answer of version %#x with flags %#x and %d bytes, where %#x is expected", head[0], head[1],
			length, response|c.protocol)
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

var errShort = errors.New("cassandra: a truncated answer")

// unwarned returns a response without the warnings that precede it, or nil if there is no response.
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

// complaint parses an error response.
func complaint(answer []byte) *trouble {
	r := reader{data: answer}
	t := &trouble{code: uint32(r.number(4)), text: string(r.bytes(2))}
	if t.code == slow {
		r.take(2 + 4 + 4) // the consistency, the number of responses, and the number required
		t.kind = string(r.bytes(2))
	}
	return t
}

// The parts of a result with rows.
const (
	kindRows  = 2
	flagTable = 1 // all columns are of one table, which is named once
	typeText  = 0x0d
	typeASCII = 0x01
	typeBool  = 0x04
)

// result parses rows whose columns are texts and booleans; other results have none.
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
