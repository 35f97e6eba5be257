package process

import (
	"encoding/binary"
	"net"
	"os"
	"syscall"
)

// What the kernel calls its questions about sockets (linux/sock_diag.h, linux/inet_diag.h).
const (
	sockDiag         = 4  // NETLINK_SOCK_DIAG
	sockDiagByFamily = 20 // SOCK_DIAG_BY_FAMILY
	tcpListen        = 10 // TCP_LISTEN
	diagRequest      = 56 // struct inet_diag_req_v2
	diagMessage      = 72 // struct inet_diag_msg
)

// listening lists the addresses at which somebody listens, or is nil where that cannot be told.
// The kernel is asked for these alone: its table in /proc has all sockets, which takes
// milliseconds to go through.
func listening() []net.TCPAddr {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, sockDiag)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	found := []net.TCPAddr{}
	for _, family := range []uint8{syscall.AF_INET, syscall.AF_INET6} {
		if found, err = listeningOf(fd, family, found); err != nil {
			return nil
		}
	}
	return found
}

// listeningOf adds the addresses of one family.
func listeningOf(fd int, family uint8, found []net.TCPAddr) ([]net.TCPAddr, error) {
	request := make([]byte, syscall.NLMSG_HDRLEN+diagRequest)
	order := binary.NativeEndian
	order.PutUint32(request, uint32(len(request)))
	order.PutUint16(request[4:], sockDiagByFamily)
	order.PutUint16(request[6:], syscall.NLM_F_REQUEST|syscall.NLM_F_DUMP)
	body := request[syscall.NLMSG_HDRLEN:]
	body[0], body[1] = family, syscall.IPPROTO_TCP
	order.PutUint32(body[4:], 1<<tcpListen)
	if err := syscall.Sendto(fd, request, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return found, os.NewSyscallError("sendto", err)
	}
	buffer := make([]byte, 32<<10)
	for {
		n, _, err := syscall.Recvfrom(fd, buffer, 0)
		if err != nil {
			return found, os.NewSyscallError("recvfrom", err)
		}
		messages, err := syscall.ParseNetlinkMessage(buffer[:n])
		if err != nil {
			return found, err
		}
		for _, m := range messages {
			switch {
			case m.Header.Type == syscall.NLMSG_DONE:
				return found, nil
			case m.Header.Type == syscall.NLMSG_ERROR:
				return found, os.ErrInvalid
			case len(m.Data) >= diagMessage:
				found = append(found, addressIn(m.Data, family))
			}
		}
	}
}

// addressIn reads the local address of a struct inet_diag_msg.
func addressIn(data []byte, family uint8) net.TCPAddr {
	length := net.IPv4len
	if family == syscall.AF_INET6 {
		length = net.IPv6len
	}
	return net.TCPAddr{Port: int(binary.BigEndian.Uint16(data[4:])), IP: append(net.IP(nil), data[8:8+length]...)}
}
