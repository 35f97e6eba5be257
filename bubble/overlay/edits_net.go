package overlay

import "maps"

// sockets are the edits of package net. The sockets of nodes are in memory, and host names are those of nodes.
var sockets = map[string]func(*source){
	"net/fd_posix.go": func(s *source) {
		s.field("netFD", "mem *lockstepFD // in memory")
		s.delegate("Close", "shutdown", "Read", "readFrom", "readFromInet4", "readFromInet6",
			"readMsg", "readMsgInet4", "readMsgInet6",
			"Write", "writeTo", "writeToInet4", "writeToInet6", "writeMsg", "writeMsgInet4", "writeMsgInet6",
			"SetDeadline", "SetReadDeadline", "SetWriteDeadline")
	},
	"net/lookup.go": func(s *source) {
		s.begin("(*Resolver).getLookupGroup", "if g := lockstepLookups(r); g != nil {\n\treturn g\n}")
		for _, lookup := range []string{"LookupHost", "lookupIPAddr"} {
			s.begin("(*Resolver)."+lookup, "if err := lockstepLookupError(host); err != nil {\n\treturn nil, err\n}")
		}
	},
	"net/fd_unix.go": func(s *source) { s.delegate("accept", "dup") },
	"net/sock_posix.go": func(s *source) {
		s.begin("socket", "if lockstepWanted(family, sotype) {\n"+
			"\treturn lockstepSocket(ctx, net, family, sotype, ipv6only, laddr, raddr, ctrlCtxFn)\n}")
	},
	"net/sockopt_posix.go": options(map[string]string{
		"setReadBuffer":  "o.readBuffer = 2 * bytes", // doubled, as in the kernel
		"setWriteBuffer": "o.writeBuffer = 2 * bytes",
		"setKeepAlive":   "o.keepAlive = keepalive",
		"setLinger":      "o.linger = sec",
	}),
	"net/tcpsockopt_posix.go": options(map[string]string{"setNoDelay": "o.noDelay = noDelay"}),
	"net/tcpsockopt_unix.go": options(map[string]string{
		"setKeepAliveIdle":     "o.idle = lockstepSeconds(d, defaultTCPKeepAliveIdle, o.idle)",
		"setKeepAliveInterval": "o.interval = lockstepSeconds(d, defaultTCPKeepAliveInterval, o.interval)",
		"setKeepAliveCount":    "o.count = lockstepCount(n, o.count)",
	}),
	"net/sockoptip4_linux.go": options(map[string]string{
		"joinIPv4Group": "", "setIPv4MulticastInterface": "", "setIPv4MulticastLoopback": ""}),
	"net/sockoptip6_posix.go": options(map[string]string{
		"joinIPv6Group": "", "setIPv6MulticastInterface": "", "setIPv6MulticastLoopback": ""}),
	"net/writev_unix.go": func(s *source) { s.delegate("writeBuffers") },
	"net/sendfile.go":    func(s *source) { s.begin("sendFile", "if c.mem != nil {\n\treturn 0, nil, false\n}") },
	"net/mptcpsock_linux.go": func(s *source) {
		s.begin("isUsingMultipathTCP", "if fd.mem != nil {\n\treturn false\n}")
	},
	"net/splice_linux.go": func(s *source) {
		s.begin("spliceFrom", "if c.mem != nil {\n\treturn 0, nil, false\n}")
		s.begin("spliceTo", "if c.mem != nil {\n\treturn 0, nil, false\n}")
		s.after("spliceFrom", "switch v := r.(type)", "if s != nil && s.mem != nil {\n\treturn 0, nil, false\n}")
	},
	"net/rawconn.go": func(s *source) {
		//lockstep:unordered each method alone
		for method, call := range map[string]string{"Control": "RawControl", "Read": "RawRead", "Write": "RawWrite"} {
			s.replace("(*rawConn)."+method, "c.fd.pfd."+call+"(f)", "c.fd.lockstep"+call+"(f)")
		}
	},
	"net/unixsock_posix.go": func(s *source) {
		s.replace("(*UnixListener).close", "ln.unlink", "ln.unlink && !ln.fd.lockstepNoFile()")
	},
	"net/hosts.go": func(s *source) {
		s.begin("lookupStaticHost", "if a, known := lockstepHosts(host); known {\n\treturn a, host\n}")
		s.begin("lookupStaticAddr", "if names, known := lockstepNames(addr); known {\n\treturn names\n}")
	},
	"net/conf.go": func(s *source) {
		s.begin("(*conf).lookupOrder", "if lockstepOnlyFiles(r) {\n\treturn hostLookupFiles, nil\n}")
	},
	"net/dnsclient_unix.go": func(s *source) {
		s.begin("(*Resolver).lookup",
			"if lockstepOnlyFiles(r) {\n\treturn dnsmessage.Parser{}, \"\", newDNSError(errNoSuchHost, name, \"\")\n}")
	},
}

// options makes functions that set socket options do so in memory. Each statement sets the options o.
func options(statements map[string]string) func(*source) {
	return func(s *source) {
		for f, statement := range statements { //lockstep:unordered each function alone
			s.begin(f, "if fd.mem != nil {\n\treturn fd.mem.option(func(o *lockstepOptions) { "+statement+" })\n}")
		}
	}
}

// union merges lists of edits.
func union(lists ...map[string]func(*source)) map[string]func(*source) {
	all := map[string]func(*source){}
	for _, l := range lists {
		maps.Copy(all, l)
	}
	return all
}
