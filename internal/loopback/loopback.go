// Package loopback recognizes addresses that only this machine can reach.
package loopback

import "net"

// Is reports whether a listen address is on the loopback. It returns an error if the text is not an address.
func Is(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, err
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}
