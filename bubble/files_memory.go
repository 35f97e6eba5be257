//go:build lockstep_overlay && linux && amd64

package bubble

import (
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

// mmap records shared mappings of files: a write to such a mapping is a write to the file.
func (k *kernel) mmap(c *call) (r1, r2 uintptr, err errno) {
	o := k.descriptor(c, 4)
	if o != nil {
		// MAP_POPULATE would allocate pages for all holes of a file that consists mostly of holes.
		c.Clear(3, syscall.MAP_POPULATE)
		o.inode.Mapped = true
		if o.inode.Readable(0, o.inode.Size()) < o.inode.Size() {
			return k.refuse(o.machine, "mmap of a file with an unreadable block", syscall.EIO)
		}
	}
	r1, r2, err = c.Do()
	if err == 0 && o != nil && c.Arg(3)&syscall.MAP_SHARED != 0 {
		p := &mapping{
			opened: *o,
			at:     r1,
			long:   c.Arg(1),
			offset: int64(c.Arg(5)),
			write:  c.Arg(2)&syscall.PROT_WRITE != 0,
		}
		p.incarnation = runtime.LockstepNode()
		k.maps = append(k.maps, p)
	}
	return r1, r2, err
}

// mapped is the mapping that contains an address, or nil.
func (k *kernel) mapped(at uintptr) *mapping {
	for _, p := range k.maps {
		if at >= p.at && at < p.at+p.long {
			return p
		}
	}
	return nil
}

func (k *kernel) munmap(c *call) (r1, r2 uintptr, err errno) {
	p := k.mapped(c.Arg(0))
	if p == nil {
		return c.Do()
	}
	if c.Arg(0) != p.at || c.Arg(1) < p.long {
		return k.refuse(p.machine, "munmap of a part", syscall.EINVAL)
	}
	k.record(p)
	r1, r2, err = c.Do()
	if err == 0 {
		k.maps = slices.DeleteFunc(k.maps, func(q *mapping) bool { return p == q })
	}
	return r1, r2, err
}

func (k *kernel) mprotect(c *call) (r1, r2 uintptr, err errno) {
	r1, r2, err = c.Do()
	if p := k.mapped(c.Arg(0)); p != nil && err == 0 && c.Arg(2)&syscall.PROT_WRITE != 0 {
		p.write = true
	}
	return r1, r2, err
}

func (k *kernel) mremap(c *call) (r1, r2 uintptr, err errno) {
	if p := k.mapped(c.Arg(0)); p != nil {
		return k.refuse(p.machine, "mremap", syscall.ENOMEM)
	}
	return c.Do()
}

// msync makes the writes to a mapping durable, if the call waits for that.
func (k *kernel) msync(c *call) (r1, r2 uintptr, err errno) {
	p := k.mapped(c.Arg(0))
	switch {
	case p == nil:
		return c.Do()
	case c.Arg(2)&syscall.MS_SYNC == 0:
		k.record(p)
		return 0, 0, 0
	}
	if err := k.sync(p.machine, p.inode, p.machine.disk.SyncData); err != 0 {
		return failed(err)
	}
	return 0, 0, 0
}

// hidden is the result of proc for a path in /proc that nodes must not see.
const hidden = -2

// virtual are the files of /proc that nodes see. Other processes on the machine must have no influence on them.
var virtual = map[string]string{
	"/proc/meminfo": "MemTotal: 8388608 kB\nMemFree: 4194304 kB\nMemAvailable: 4194304 kB\n",
	"/proc/loadavg": "0.00 0.00 0.00 1/1 1\n",
	"/proc/uptime":  "1.00 1.00\n",
	"/proc/stat":    "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nbtime 946684800\n",
	"/proc/self/stat": "1 (node) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 0 67108864 4096 18446744073709551615 0 0 0 " +
		"0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
	"/proc/self/status": "Name:\tnode\nState:\tS (sleeping)\nPid:\t1\nVmRSS:\t16384 kB\nThreads:\t1\n",
	"/proc/self/statm":  "16384 4096 1024 1 0 4096 0\n",
	"/proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units\n" +
		"Max open files            1048576              1048576              files\n",
}

// proc opens a file of /proc as nodes see it. It returns a descriptor, hidden, or -1 if the path is elsewhere.
func (k *kernel) proc(path string) int {
	if len(path) < 6 || path[:6] != "/proc/" || path == sameRoot || strings.HasPrefix(path, sameRoot+"/") {
		return -1
	}
	text, there := virtual[path]
	if !there {
		return hidden
	}
	defer asEngine()()
	name := []byte("proc\x00")
	fd, _, err := syscall.Syscall(sysMemfdCreate, uintptr(unsafe.Pointer(&name[0])), 1, 0) // MFD_CLOEXEC
	if err != 0 {
		return hidden
	}
	if _, err := syscall.Pwrite(int(fd), []byte(text), 0); err != nil {
		return hidden
	}
	return int(fd)
}
