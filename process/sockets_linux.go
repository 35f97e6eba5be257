package process

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// owner returns the process that holds the socket with these addresses, among those that the function accepts, or 0.
func owner(local, remote *net.TCPAddr, among func(pid int) bool) int {
	found, err := between(local, remote)
	if err != nil {
		found = tabled(func(s socket) bool { return same(s.local, *local) && same(s.remote, *remote) })
	}
	if len(found) == 0 || found[0].inode == "0" {
		return 0
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && among(pid) && holds(pid, "socket:["+found[0].inode+"]") {
			return pid
		}
	}
	return 0
}

// dials lists the pairs of a given process and a given address to which the process has dialed a connection.
func dials(pids []int, targets []*net.TCPAddr) (found []dialed) {
	holder := map[string]int{}
	for _, pid := range pids {
		for _, file := range files(pid) {
			if inode, ok := strings.CutPrefix(file, "socket:["); ok {
				holder[strings.TrimSuffix(inode, "]")] = pid
			}
		}
	}
	sockets, err := inState(tcpEstablished)
	if err != nil {
		sockets = tabled(func(s socket) bool { return holder[s.inode] != 0 })
	}
	for _, s := range sockets {
		if pid := holder[s.inode]; pid != 0 {
			for _, t := range targets {
				if same(s.remote, *t) {
					found = append(found, dialed{pid, t})
				}
			}
		}
	}
	return found
}

func same(a, b net.TCPAddr) bool { return a.Port == b.Port && a.IP.Equal(b.IP) }

// holds reports whether a process has the given file open.
func holds(pid int, file string) bool { return slices.Contains(files(pid), file) }

// files lists the open files of a process.
func files(pid int) (names []string) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if link, err := os.Readlink(dir + "/" + e.Name()); err == nil {
			names = append(names, link)
		}
	}
	return names
}

// socket is a socket as the kernel reports it.
type socket struct {
	local, remote net.TCPAddr
	inode         string
}

// tabled lists sockets of the kernel's tables, for kernels that answer no queries.
func tabled(want func(socket) bool) (found []socket) {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(f)
		lines.Scan() // the names of the columns
		for lines.Scan() {
			if fields := strings.Fields(lines.Text()); len(fields) > 9 {
				if s := (socket{parse(fields[1]), parse(fields[2]), fields[9]}); want(s) {
					found = append(found, s)
				}
			}
		}
		_ = f.Close()
	}
	return found
}

// parse parses an address: words of four bytes in the machine's byte order, and a port.
func parse(text string) net.TCPAddr {
	host, port, _ := strings.Cut(text, ":")
	ip, _ := hex.DecodeString(host)
	for i := 0; i+4 <= len(ip); i += 4 {
		slices.Reverse(ip[i : i+4])
	}
	n, _ := strconv.ParseUint(port, 16, 16)
	return net.TCPAddr{IP: ip, Port: int(n)}
}

// groupOf returns the group of a process, or 0.
func groupOf(pid int) int {
	if pid <= 0 {
		return 0
	}
	group, err := syscall.Getpgid(pid)
	if err != nil {
		return 0
	}
	return group
}
