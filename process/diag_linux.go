package process

import (
	"encoding/binary"
	"net"
	"os"
	"strconv"
	"syscall"
)

// The kernel's names for socket queries (linux/sock_diag.h, linux/inet_diag.h).
const (
	sockDiag         = 4  // NETLINK_SOCK_DIAG
	sockDiagByFamily = 20 // SOCK_DIAG_BY_FAMILY
	tcpEstablished   = 1  // TCP_ESTABLISHED
	tcpListen        = 10 // TCP_LISTEN
	diagRequest      = 56 // struct inet_diag_req_v2
	diagMessage      = 72 // struct inet_diag_msg
)

// question is a query for sockets: all in the given states, or the one with the given addresses.
type question struct {
	family        uint8
	states        uint32
	local, remote *net.TCPAddr
}

// listening lists the addresses with a listening socket. It returns nil if the kernel does not answer.
func listening() []net.TCPAddr {
	sockets, err := inState(tcpListen)
	if err != nil {
		return nil
	}
	found := []net.TCPAddr{}
	for _, s := range sockets {
		found = append(found, s.local)
	}
	return found
}

// inState lists the sockets in a state, of both families. It queries the kernel for these alone. The table in /proc has
// all sockets, and thousands of closed connections take milliseconds to read.
func inState(state int) ([]socket, error) {
	return ask(question{family: syscall.AF_INET, states: 1 << state},
		question{family: syscall.AF_INET6, states: 1 << state})
}

// between lists the socket with these addresses, if there is one. A socket opened for IPv6 and connected over IPv4 is
// found by its IPv4 addresses.
func between(local, remote *net.TCPAddr) ([]socket, error) {
	q := question{family: syscall.AF_INET6, states: ^uint32(0), local: local, remote: remote}
	if local.IP.To4() != nil {
		q.family = syscall.AF_INET
	}
	found, err := ask(q)
	for _, s := range found { // the kernel also returns a listening socket
		if same(s.local, *local) && same(s.remote, *remote) {
			return []socket{s}, nil
		}
	}
	if err == syscall.ENOENT { //nolint:errorlint // it is the kernel's, as it came
		err = nil
	}
	return nil, err
}

// ask sends queries to the kernel, one after the other.
func ask(questions ...question) (found []socket, err error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, sockDiag)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	defer syscall.Close(fd)
	for _, q := range questions {
		if err := syscall.Sendto(fd, q.bytes(), 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
			return nil, os.NewSyscallError("sendto", err)
		}
		some, err := q.answers(fd)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// bytes encodes the query as the kernel reads it.
func (q question) bytes() []byte {
	request := make([]byte, syscall.NLMSG_HDRLEN+diagRequest)
	order, flags := binary.NativeEndian, uint16(syscall.NLM_F_REQUEST)
	body := request[syscall.NLMSG_HDRLEN:]
	body[0], body[1] = q.family, syscall.IPPROTO_TCP
	order.PutUint32(body[4:], q.states)
	if q.local == nil {
		flags |= syscall.NLM_F_DUMP
	} else {
		binary.BigEndian.PutUint16(body[8:], uint16(q.local.Port))
		binary.BigEndian.PutUint16(body[10:], uint16(q.remote.Port))
		copy(body[12:28], bytesOf(q.local.IP, q.family))
		copy(body[28:44], bytesOf(q.remote.IP, q.family))
		order.PutUint64(body[48:], ^uint64(0)) // INET_DIAG_NOCOOKIE
	}
	order.PutUint32(request, uint32(len(request)))
	order.PutUint16(request[4:], sockDiagByFamily)
	order.PutUint16(request[6:], flags)
	return request
}

// bytesOf returns an address in the length of its family.
func bytesOf(ip net.IP, family uint8) net.IP {
	if family == syscall.AF_INET {
		return ip.To4()
	}
	return ip.To16()
}

// answers reads the kernel's reply to the query: several messages and an end marker, or one message.
func (q question) answers(fd int) (found []socket, err error) {
	buffer := make([]byte, 32<<10)
	for {
		n, _, err := syscall.Recvfrom(fd, buffer, 0)
		if err != nil {
			return nil, os.NewSyscallError("recvfrom", err)
		}
		messages, err := syscall.ParseNetlinkMessage(buffer[:n])
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == syscall.NLMSG_DONE:
				return found, nil
			case m.Header.Type == syscall.NLMSG_ERROR && len(m.Data) >= 4:
				return nil, syscall.Errno(-int32(binary.NativeEndian.Uint32(m.Data)))
			case len(m.Data) < diagMessage:
				return nil, os.ErrInvalid
			}
			found = append(found, socketIn(m.Data))
		}
		if q.local != nil {
			return found, nil
		}
	}
}

// socketIn parses a struct inet_diag_msg.
func socketIn(data []byte) socket {
	length := net.IPv4len
	if data[0] == syscall.AF_INET6 {
		length = net.IPv6len
	}
	address := func(ip, port int) net.TCPAddr {
		return net.TCPAddr{
			Port: int(binary.BigEndian.Uint16(data[port:])),
			IP:   append(net.IP(nil), data[ip:ip+length]...),
		}
	}
	return socket{address(8, 4), address(24, 6), strconv.Itoa(int(binary.NativeEndian.Uint32(data[68:])))}
}
