// Package loopback tells addresses that only this machine reaches from others.
package loopback

import "net"

// Is reports whether an address to listen at is on the loopback. An error means that it is none.
func Is(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, err
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}
