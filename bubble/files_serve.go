//go:build lockstep_overlay && linux && amd64

package bubble

import (
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble/disk"
)

// filesWork reports whether the model can serve system calls on files.
const filesWork = true

// makeSocket creates the name of a unix socket without a listener.
func makeSocket(path string) error { return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0) }

// kernel serves the system calls of nodes on files. Real files play the role of the page cache: the kernel reads, locks
// and maps them. The models of the disks record every change beside them.
//
// No lock is necessary: nodes have one processor, and code that must be atomic does not wait.
type kernel struct {
	machines []*machine
	open     map[uintptr]*opened // by descriptor
	maps     []*mapping
	dead     map[int32]bool // incarnations that have ended
	denied   map[int32]int  // number of failed calls of a dead incarnation
	lost     []*mapping     // mappings of dead incarnations
	umask    uint32
}

// opened is an open file or directory of a node.
type opened struct {
	machine     *machine
	inode       *disk.Inode
	incarnation int32
	flags       uintptr
	listed      bool     // names are the entries of a directory that list has still to return
	names       []dirent // in the order of the run
}

// mapping is a shared mapping of a file in memory.
type mapping struct {
	opened
	at, long uintptr
	offset   int64
	write    bool
}

// served is the kernel of the run.
var served *kernel

// serveFiles starts to serve calls below the directories of nodes.
func serveFiles(machines []*machine, reads bool) {
	serveNoMore()
	umask := syscall.Umask(0)
	syscall.Umask(umask)
	served = &kernel{
		machines: machines,
		open:     map[uintptr]*opened{},
		dead:     map[int32]bool{},
		denied:   map[int32]int{},
		umask:    uint32(umask),
	}
	var traps []uintptr
	for trap := range calls { //lockstep:unordered a set
		if _, is := reading()[trap]; !is || reads {
			traps = append(traps, trap)
		}
	}
	syscall.LockstepServe(traps, served.serve)
}

// serveNoMore closes the files of the run and hands all calls back to the kernel.
func serveNoMore() {
	if served != nil {
		syscall.LockstepServe(nil, nil)
		served.lost = append(served.lost, served.maps...)
		served.close(func(*opened) bool { return true })
		served = nil
	}
}

// leaveFiles detaches an incarnation that has ended: it changes no file any more. The model keeps what the incarnation
// has written to mappings.
func leaveFiles(incarnation int32) {
	k := served
	k.dead[incarnation] = true
	k.maps = slices.DeleteFunc(k.maps, func(p *mapping) bool {
		if p.incarnation == incarnation {
			k.record(p)
			k.lost = append(k.lost, p)
		}
		return p.incarnation == incarnation
	})
}

// closeFiles closes the files of an incarnation whose goroutines never run again. That releases its locks.
func closeFiles(incarnation int32) {
	served.close(func(o *opened) bool { return o.incarnation == incarnation })
}

func (k *kernel) close(which func(*opened) bool) {
	k.lost = slices.DeleteFunc(k.lost, func(p *mapping) bool {
		if which(&p.opened) {
			_, _, _ = syscall.RawSyscall(syscall.SYS_MUNMAP, p.at, p.long, 0)
		}
		return which(&p.opened)
	})
	for fd, o := range k.open { //lockstep:unordered each alone
		if which(o) {
			_ = syscall.Close(int(fd))
			delete(k.open, fd)
		}
	}
}

type (
	call  = syscall.LockstepCall
	errno = syscall.Errno
)

// failed is the result of a call that failed.
func failed(err errno) (r1, r2 uintptr, _ errno) { return ^uintptr(0), 0, err }

// serve serves a call of a node's goroutine.
func (k *kernel) serve(c *call) (r1, r2 uintptr, err errno) {
	if k.dead[runtime.LockstepNode()] {
		return k.pretend(c)
	}
	return calls[c.Trap].serve(k, c)
}

// mostDenied is how many calls of a dead incarnation fail. After that calls block, so that an endless retry loop does
// not spin.
const mostDenied = 1000

// pretend serves a call of a dead incarnation, before its goroutines freeze. Calls on an open file seem to succeed; all
// others fail. So a goroutine that holds process-wide state, such as a lock, can release it.
func (k *kernel) pretend(c *call) (r1, r2 uintptr, err errno) {
	if k.deceives(c) {
		select {}
	}
	switch c.Trap {
	case syscall.SYS_WRITE, syscall.SYS_PWRITE64:
		if k.descriptor(c, 0) != nil {
			return c.Arg(2), 0, 0
		}
	case syscall.SYS_FSYNC,
		syscall.SYS_FDATASYNC,
		syscall.SYS_FTRUNCATE,
		syscall.SYS_FALLOCATE,
		syscall.SYS_MSYNC,
		syscall.SYS_MUNMAP:
		return 0, 0, 0
	case syscall.SYS_CLOSE:
		if k.descriptor(c, 0) != nil {
			return 0, 0, 0 // closeFiles closes it with the others
		}
	case syscall.SYS_GETDENTS64:
		return k.list(c)
	case syscall.SYS_LSEEK,
		syscall.SYS_FSTAT,
		syscall.SYS_FCNTL,
		syscall.SYS_MMAP,
		syscall.SYS_MPROTECT,
		syscall.SYS_IOCTL:
	default:
		incarnation := runtime.LockstepNode()
		if k.denied[incarnation]++; k.denied[incarnation] > mostDenied {
			select {}
		}
		return failed(syscall.EIO)
	}
	return c.Do()
}

// deceives reports whether a dead incarnation would rely on memory that does not match the file after the call. That is
// so if the call maps a file, or changes a mapped one: the kernel does not perform the incarnation's writes. A store
// that follows such pages may read any address.
func (k *kernel) deceives(c *call) bool {
	switch c.Trap {
	case syscall.SYS_MMAP:
		return k.descriptor(c, 4) != nil
	case syscall.SYS_WRITE, syscall.SYS_PWRITE64, syscall.SYS_FTRUNCATE, syscall.SYS_FALLOCATE:
		o := k.descriptor(c, 0)
		return o != nil &&
			slices.ContainsFunc(k.lost, func(p *mapping) bool { return p.inode == o.inode && p.incarnation == o.incarnation })
	}
	return false
}

// descriptor is the open file behind a descriptor argument, or nil if it is not on a disk.
func (k *kernel) descriptor(c *call, arg int) *opened { return k.open[uintptr(uint32(c.Arg(arg)))] }

// refuse refuses a call that the model lacks, and reports that as an event.
func (k *kernel) refuse(m *machine, what string, err errno) (uintptr, uintptr, errno) {
	m.world.Event(lockstep.Event{Node: m.node, Type: RefusedCall, Value: what})
	return failed(err)
}

// here is the machine of the calling goroutine.
func (k *kernel) here() *machine { return k.machines[runtime.LockstepNode()%64-1] }

// settle records when a change happens.
func (m *machine) settle(inodes ...*disk.Inode) {
	m.disk.Time = int64(m.world.Now())
	for _, i := range inodes {
		i.Modified = time.Now().UnixNano() // by the clock of the node
	}
}

// linger makes a change take time, and perhaps fail because the disk is full.
func (m *machine) linger(grows bool) errno {
	if m.world.Settling() {
		return 0
	}
	m.live()
	switch {
	case m.model.WriteTimes != (Delay{}):
		m.sleep(m.model.WriteTimes.draw(m.chance))
	case m.model.WriteTime > 0:
		m.sleep(time.Duration(m.chance.IntN(int(m.model.WriteTime))) + 1)
	}
	if grows && m.strikes(m.model.FullDisk) {
		return m.fail("change", syscall.ENOSPC)
	}
	return 0
}

// sleep lets time pass in a call.
func (m *machine) sleep(long time.Duration) {
	if long > 0 {
		m.world.happened()
		time.Sleep(long)
	}
}

// strikes draws whether a fault of the disk strikes that has this probability.
func (m *machine) strikes(share float64) bool { return m.faulty && m.chance.strikes(share) }

// fail reports that a call fails by the fault model.
func (m *machine) fail(call string, err errno) errno {
	m.world.failed(m.node, diskFailed)
	m.world.Event(lockstep.Event{Node: m.node, Type: FailedCall, Value: call + ": " + err.Error()})
	return err
}

// live counts a call that changes files, and kills the process at the one that was drawn.
func (m *machine) live() {
	if m.kill == 0 {
		return
	}
	if m.kill--; m.kill == 0 {
		m.world.kill(runtime.LockstepNode())
		select {} // the goroutine is frozen
	}
}

// space is how many of n bytes written at an offset fit on the disk.
func (k *kernel) space(m *machine, i *disk.Inode, at, n int64) int64 {
	if m.model.DiskBytes == 0 || !m.faulty || m.world.Settling() || i.Needs(at, n) == 0 {
		return n
	}
	var open []*disk.Inode
	for _, o := range k.open { //lockstep:unordered a sum
		if o.machine == m {
			open = append(open, o.inode)
		}
	}
	free := m.model.DiskBytes - m.disk.Used(open...)
	for n > 0 && i.Needs(at, n) > free {
		n = max(0, (at+n-1)/disk.Block*disk.Block-at)
	}
	return n
}

// place is a resolved path: the directory, the name in it, and the inode that has the name now.
type place struct {
	machine *machine
	dir     *disk.Inode
	name    string // empty for the root of a disk
	inode   *disk.Inode
}

// find resolves a path. It is relative to the descriptor in argument dirfd, unless dirfd is negative. The machine is
// nil if the path is on no disk.
func (k *kernel) find(c *call, dirfd int, name string, follow bool) place {
	if !strings.HasPrefix(name, "/") {
		if dirfd >= 0 {
			if o := k.descriptor(c, dirfd); o != nil {
				return walk(o.machine, []*disk.Inode{o.machine.disk.Root(), o.inode}, name, follow)
			}
			if int32(c.Arg(dirfd)) >= 0 {
				return place{} // relative to a directory elsewhere
			}
		}
		wd, err := syscall.Getwd()
		if err != nil {
			return place{}
		}
		name = wd + "/" + name
	}
	name = path.Clean(name)
	for _, m := range k.machines {
		if name == m.root || strings.HasPrefix(name, m.root+"/") {
			return walk(m, []*disk.Inode{m.disk.Root()}, name[len(m.root):], follow)
		}
	}
	return place{}
}

// walk follows a path that starts at the last directory in at.
func walk(m *machine, at []*disk.Inode, name string, follow bool) place {
	here := place{machine: m, inode: at[len(at)-1]}
	links := 0
	for parts := strings.Split(name, "/"); len(parts) > 0; {
		part := parts[0]
		parts = parts[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = at[:max(1, len(at)-1)]
			here = place{machine: m, inode: at[len(at)-1]}
			continue
		}
		dir := at[len(at)-1]
		here = place{machine: m, dir: dir, name: part, inode: dir.Entry(part)}
		switch i := here.inode; {
		case i == nil:
			if len(parts) > 0 {
				return place{machine: m} // the kernel will return the error
			}
		case i.Kind == disk.Directory:
			at = append(slices.Clone(at), i)
		case i.Kind == disk.Symlink && (follow || len(parts) > 0):
			if links++; links > 40 || strings.HasPrefix(i.Target, "/") {
				return place{machine: m}
			}
			parts = append(strings.Split(i.Target, "/"), parts...)
		}
	}
	return here
}

// adopt adds a file to the model that another process created.
func (k *kernel) adopt(p *place, fd uintptr) bool {
	defer asEngine()()
	var st syscall.Stat_t
	if p.dir == nil || syscall.Fstat(int(fd), &st) != nil {
		return false
	}
	kind, data := disk.File, []byte(nil)
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		kind = disk.Directory
	case syscall.S_IFREG:
		data = make([]byte, st.Size)
		file, err := syscall.Open(p.machine.path(p), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return false
		}
		defer func() { _ = syscall.Close(file) }()
		if n, err := syscall.Pread(file, data, 0); err != nil || n != len(data) {
			return false
		}
	default:
		return false
	}
	p.inode = p.machine.disk.Place(p.dir, p.name, kind, data)
	p.inode.Mode = st.Mode & 0o7777
	return true
}

// path is the path of a file, if the tree contains its directory.
func (m *machine) path(p *place) string {
	var find func(dir *disk.Inode, at string) string
	find = func(dir *disk.Inode, at string) string {
		if dir == p.dir {
			return at + "/" + p.name
		}
		for _, name := range dir.Names() {
			if i := dir.Entry(name); i.Kind == disk.Directory {
				if found := find(i, at+"/"+name); found != "" {
					return found
				}
			}
		}
		return ""
	}
	return find(m.disk.Root(), m.root)
}

// record records in the model what the node wrote to a mapping.
func (k *kernel) record(p *mapping) {
	if !p.write {
		return
	}
	end := min(int64(p.long), p.inode.Size()-p.offset)
	old := make([]byte, disk.Sector)
	p.machine.settle()
	for at := int64(0); at < end; at += disk.Sector {
		n := min(disk.Sector, end-at)
		live := unsafe.Slice((*byte)(pointer(p.at+uintptr(at))), n)
		p.inode.ReadAt(old[:n], p.offset+at)
		if string(live) != string(old[:n]) {
			p.machine.disk.Write(p.inode, p.offset+at, live)
		}
	}
}

// pointer converts an address that the kernel returned.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// lookAll records in the model what nodes wrote to the mappings of a file, or of all files.
func (k *kernel) lookAll(m *machine, i *disk.Inode) {
	for _, p := range k.maps {
		if p.machine == m && (i == nil || p.inode == i) {
			k.record(p)
		}
	}
}

// sync makes a file or disk durable. It takes time, and may fail.
func (k *kernel) sync(m *machine, i *disk.Inode, durable func(*disk.Inode, uint64)) errno {
	k.lookAll(m, i)
	began := m.disk.Moment()
	if !m.world.Settling() {
		m.live()
		m.world.happened()
		if m.model.SyncTimes != (Delay{}) {
			time.Sleep(m.model.SyncTimes.draw(m.chance))
		} else {
			time.Sleep(m.model.SyncTime/10 + time.Duration(m.chance.IntN(int(m.model.SyncTime)*9/10+1)))
		}
		if i != nil && i.Kind == disk.File && m.strikes(m.model.SyncErrors) {
			m.disk.SyncFailed(i, began)
			return m.fail("sync", syscall.EIO)
		}
	}
	durable(i, began)
	return 0
}
