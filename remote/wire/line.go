package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// Line carries the messages of both calls on one connection, which began as an HTTP request with "Upgrade: lockstep".
// Each message is a frame as in the calls: a byte 0, its length as four bytes, and the message as protocol buffers.
// Reads and writes happen in the caller's goroutine, which makes a line faster than the calls.
type Line struct {
	conn  conn
	in    *bufio.Reader
	out   []byte
	body  []byte
	limit int
}

// conn is a connection, or the file of one.
type conn interface {
	io.ReadWriteCloser
	syscall.Conn
}

// LinePath is the path at which a connection becomes a line, and LineProtocol the protocol it is upgraded to.
const (
	LinePath     = "/lockstep.remote.v1.Lockstep/Line"
	LineProtocol = "lockstep"
)

// NewLine creates a line of a connection from which in reads. It refuses messages of more than limit bytes.
func NewLine(conn *net.TCPConn, in *bufio.Reader, limit int) *Line {
	return &Line{conn: conn, in: in, limit: limit}
}

// Block lets a read block its thread until data arrives. That is cheaper than to release the thread if it has no other
// work.
func (l *Line) Block() error {
	tcp := l.conn.(*net.TCPConn)
	file, err := tcp.File()
	if err != nil {
		return err
	}
	file.Fd() // which makes its reads block
	l.conn = &blocking{File: file, tcp: tcp}
	came, _ := l.in.Peek(l.in.Buffered())
	if len(came) == 0 {
		l.in.Reset(l.conn)
	} else {
		l.in.Reset(io.MultiReader(bytes.NewReader(bytes.Clone(came)), l.conn))
	}
	return nil
}

// blocking is the file of a connection.
type blocking struct {
	*os.File
	tcp *net.TCPConn
}

// Close unblocks a pending read, which closing the file would not.
func (b *blocking) Close() error {
	_ = b.tcp.CloseRead()
	return errors.Join(b.tcp.Close(), b.File.Close())
}

const headSize = 5

// Write writes a message.
func (l *Line) Write(m message) error {
	l.out = m.append(append(l.out[:0], make([]byte, headSize)...))
	binary.BigEndian.PutUint32(l.out[1:headSize], uint32(len(l.out)-headSize))
	_, err := l.conn.Write(l.out)
	return err
}

// Read reads a message into m, which must be empty. The end of the line is io.EOF.
func (l *Line) Read(m message) error {
	head, err := l.in.Peek(headSize)
	if err != nil {
		if len(head) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	size := int(binary.BigEndian.Uint32(head[1:]))
	if head[0] != 0 {
		return fmt.Errorf("wire: a frame that begins with %d; 0 is the only one here", head[0])
	}
	if size > l.limit {
		return fmt.Errorf("wire: a message of %d bytes; at most %d are possible", size, l.limit)
	}
	_, _ = l.in.Discard(headSize)
	if size <= l.in.Buffered() { // complete in the buffer: no copy is needed
		body, _ := l.in.Peek(size)
		err := fields(body, m.read)
		_, _ = l.in.Discard(size)
		return err
	}
	if cap(l.body) < size {
		l.body = make([]byte, size)
	}
	if _, err := io.ReadFull(l.in, l.body[:size]); err != nil {
		return io.ErrUnexpectedEOF
	}
	return fields(l.body[:size], m.read)
}

// Close ends the line, and unblocks Read and Write.
func (l *Line) Close() error { return l.conn.Close() }

// Gone reports whether the peer has closed the connection and all its data has been read. It may be called during a
// Read.
func (l *Line) Gone() bool {
	raw, err := l.conn.SyscallConn()
	if err != nil {
		return true
	}
	var n int
	if err := raw.Control(func(fd uintptr) {
		n, _, err = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	}); err != nil {
		return true
	}
	return n == 0 && !errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ECONNRESET)
}
