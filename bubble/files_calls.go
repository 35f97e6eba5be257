//go:build lockstep_overlay && linux && amd64

package bubble

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"github.com/lockstep-go/lockstep/bubble/disk"
)

// Numbers of system calls that package syscall has no names for.
const (
	sysStatx         = 332
	sysRenameat2     = 316
	sysSyncfs        = 306
	sysCopyFileRange = 326
	sysPwritev2      = 328
	sysMemfdCreate   = 319
	sysIoUringSetup  = 425
	sysOpenat2       = 437
	sysFchmodat2     = 452
)

// service is the name and the implementation of a system call.
type service struct {
	name  string
	serve func(*kernel, *call) (r1, r2 uintptr, err errno)
}

// calls are the system calls that the model serves. It leaves calls that only read, and calls that are not about files,
// to the kernel.
var calls map[uintptr]service

func init() {
	calls = map[uintptr]service{}
	for _, group := range []map[uintptr]service{descriptors(), reading(), durability(), naming(), facts(), lacking()} {
		maps.Copy(calls, group)
	}
}

// descriptors are calls on open files.
func descriptors() map[uintptr]service {
	return map[uintptr]service{
		syscall.SYS_OPEN: {
			"open",
			func(k *kernel, c *call) (uintptr, uintptr, errno) { return k.openFile(c, -1, 0, c.Arg(1), c.Arg(2)) },
		},
		syscall.SYS_OPENAT: {
			"openat",
			func(k *kernel, c *call) (uintptr, uintptr, errno) { return k.openFile(c, 0, 1, c.Arg(2), c.Arg(3)) },
		},
		syscall.SYS_CREAT: {"creat", func(k *kernel, c *call) (uintptr, uintptr, errno) {
			return k.openFile(c, -1, 0, syscall.O_CREAT|syscall.O_WRONLY|syscall.O_TRUNC, c.Arg(1))
		}},
		syscall.SYS_CLOSE:    {"close", (*kernel).closeFile},
		syscall.SYS_DUP:      {"dup", (*kernel).dup},
		syscall.SYS_DUP2:     {"dup2", (*kernel).dup},
		syscall.SYS_DUP3:     {"dup3", (*kernel).dup},
		syscall.SYS_FCNTL:    {"fcntl", (*kernel).fcntl},
		syscall.SYS_WRITE:    {"write", (*kernel).write},
		syscall.SYS_PWRITE64: {"pwrite64", (*kernel).write},
		syscall.SYS_WRITEV:   {"writev", (*kernel).write},
		syscall.SYS_PWRITEV:  {"pwritev", (*kernel).write},
	}
}

// durability are calls that make files durable, change their size, or map them into memory.
func durability() map[uintptr]service {
	return map[uintptr]service{
		syscall.SYS_FSYNC: {
			"fsync",
			func(k *kernel, c *call) (uintptr, uintptr, errno) { return k.syncFile(c, (*disk.Disk).Sync) },
		},
		syscall.SYS_FDATASYNC: {
			"fdatasync",
			func(k *kernel, c *call) (uintptr, uintptr, errno) { return k.syncFile(c, (*disk.Disk).SyncData) },
		},
		syscall.SYS_SYNC: {
			"sync",
			func(k *kernel, c *call) (uintptr, uintptr, errno) { return 0, 0, k.syncAll(k.here()) },
		},
		sysSyncfs:             {"syncfs", (*kernel).syncDisk},
		syscall.SYS_FTRUNCATE: {"ftruncate", (*kernel).ftruncate},
		syscall.SYS_TRUNCATE:  {"truncate", (*kernel).truncate},
		syscall.SYS_FALLOCATE: {"fallocate", (*kernel).fallocate},
		syscall.SYS_MMAP:      {"mmap", (*kernel).mmap},
		syscall.SYS_MUNMAP:    {"munmap", (*kernel).munmap},
		syscall.SYS_MPROTECT:  {"mprotect", (*kernel).mprotect},
		syscall.SYS_MREMAP:    {"mremap", (*kernel).mremap},
		syscall.SYS_MSYNC:     {"msync", (*kernel).msync},
	}
}

// naming are calls on names and modes.
func naming() map[uintptr]service {
	return map[uintptr]service{
		syscall.SYS_MKDIR:     {"mkdir", named(-1, 0, true, (*kernel).mkdir)},
		syscall.SYS_MKDIRAT:   {"mkdirat", named(0, 1, true, (*kernel).mkdir)},
		syscall.SYS_MKNODAT:   {"mknodat", named(0, 1, true, (*kernel).makeNode)},
		syscall.SYS_UNLINK:    {"unlink", named(-1, 0, false, (*kernel).remove)},
		syscall.SYS_RMDIR:     {"rmdir", named(-1, 0, false, (*kernel).remove)},
		syscall.SYS_UNLINKAT:  {"unlinkat", named(0, 1, false, (*kernel).remove)},
		syscall.SYS_SYMLINK:   {"symlink", named(-1, 1, true, (*kernel).symlink)},
		syscall.SYS_SYMLINKAT: {"symlinkat", named(1, 2, true, (*kernel).symlink)},
		syscall.SYS_RENAME: {
			"rename",
			func(k *kernel, c *call) (uintptr, uintptr, errno) { return k.rename(c, -1, 0, -1, 1, 0) },
		},
		syscall.SYS_RENAMEAT: {
			"renameat",
			func(k *kernel, c *call) (uintptr, uintptr, errno) { return k.rename(c, 0, 1, 2, 3, 0) },
		},
		sysRenameat2: {
			"renameat2",
			func(k *kernel, c *call) (uintptr, uintptr, errno) { return k.rename(c, 0, 1, 2, 3, c.Arg(4)) },
		},
		syscall.SYS_LINK: {
			"link",
			func(k *kernel, c *call) (uintptr, uintptr, errno) { return k.link(c, -1, 0, -1, 1, 0) },
		},
		syscall.SYS_LINKAT: {
			"linkat",
			func(k *kernel, c *call) (uintptr, uintptr, errno) { return k.link(c, 0, 1, 2, 3, c.Arg(4)) },
		},
		syscall.SYS_CHMOD: {
			"chmod",
			named(-1, 0, false,
				func(k *kernel, c *call, p place) (uintptr, uintptr, errno) { return k.chmod(c, p.inode, c.Arg(1)) }),
		},
		syscall.SYS_FCHMODAT: {
			"fchmodat",
			named(0, 1, false,
				func(k *kernel, c *call, p place) (uintptr, uintptr, errno) { return k.chmod(c, p.inode, c.Arg(2)) }),
		},
		sysFchmodat2: {
			"fchmodat2",
			named(0, 1, false,
				func(k *kernel, c *call, p place) (uintptr, uintptr, errno) { return k.chmod(c, p.inode, c.Arg(2)) }),
		},
		syscall.SYS_FCHMOD: {"fchmod", (*kernel).fchmod},
	}
}

// facts are calls that return metadata of files and file systems.
func facts() map[uintptr]service {
	return map[uintptr]service{
		syscall.SYS_STAT: {"stat", func(k *kernel, c *call) (uintptr, uintptr, errno) {
			return k.stat(c, k.find(c, -1, c.Text(0), true).inode, 1)
		}},
		syscall.SYS_LSTAT: {"lstat", func(k *kernel, c *call) (uintptr, uintptr, errno) {
			return k.stat(c, k.find(c, -1, c.Text(0), false).inode, 1)
		}},
		syscall.SYS_NEWFSTATAT: {"newfstatat", (*kernel).fstatat},
		syscall.SYS_FSTAT:      {"fstat", (*kernel).fstat},
		sysStatx:               {"statx", refused(-1, syscall.ENOSYS)}, // callers fall back to newfstatat
		syscall.SYS_UTIMENSAT:  {"utimensat", named(0, 1, false, (*kernel).utimens)},
		syscall.SYS_STATFS:     {"statfs", (*kernel).statfs},
		syscall.SYS_FSTATFS:    {"fstatfs", (*kernel).statfs},
		syscall.SYS_GETDENTS64: {"getdents64", (*kernel).list},
		syscall.SYS_LSEEK:      {"lseek", (*kernel).seek},
	}
}

// lacking are calls that the model lacks.
func lacking() map[uintptr]service {
	return map[uintptr]service{
		sysPwritev2:              {"pwritev2", refused(0, syscall.ENOSYS)},
		sysCopyFileRange:         {"copy_file_range", refused(2, syscall.EXDEV)},
		syscall.SYS_SENDFILE:     {"sendfile", refused(0, syscall.EINVAL)},
		syscall.SYS_SPLICE:       {"splice", refused(2, syscall.EINVAL)},
		syscall.SYS_FSETXATTR:    {"fsetxattr", refused(0, syscall.ENOTSUP)},
		syscall.SYS_FREMOVEXATTR: {"fremovexattr", refused(0, syscall.ENOTSUP)},
		syscall.SYS_SETXATTR:     {"setxattr", refusedPath(0, syscall.ENOTSUP)},
		syscall.SYS_LSETXATTR:    {"lsetxattr", refusedPath(0, syscall.ENOTSUP)},
		syscall.SYS_REMOVEXATTR:  {"removexattr", refusedPath(0, syscall.ENOTSUP)},
		syscall.SYS_MKNOD:        {"mknod", refusedPath(0, syscall.EPERM)},
		syscall.SYS_UTIMES:       {"utimes", refusedPath(0, syscall.ENOSYS)},
		syscall.SYS_FUTIMESAT: {
			"futimesat",
			named(0, 1, false, func(k *kernel, _ *call, p place) (uintptr, uintptr, errno) {
				return k.refuse(p.machine, "futimesat", syscall.ENOSYS)
			}),
		},
		syscall.SYS_REMAP_FILE_PAGES: {"remap_file_pages", refused(-1, syscall.ENOSYS)},
		syscall.SYS_IO_SUBMIT:        {"io_submit", refused(-1, syscall.ENOSYS)},
		sysIoUringSetup:              {"io_uring_setup", refused(-1, syscall.ENOSYS)},
		sysOpenat2:                   {"openat2", refused(-1, syscall.ENOSYS)},
		syscall.SYS_IOCTL:            {"ioctl", (*kernel).ioctl},
	}
}

// refused refuses a call that the model lacks if the descriptor in argument arg belongs to a file on a disk. With -1 it
// always refuses.
func refused(arg int, err errno) func(*kernel, *call) (uintptr, uintptr, errno) {
	return func(k *kernel, c *call) (uintptr, uintptr, errno) {
		if arg < 0 {
			return k.refuse(k.here(), calls[c.Trap].name, err)
		}
		if o := k.descriptor(c, arg); o != nil {
			return k.refuse(o.machine, calls[c.Trap].name, err)
		}
		return c.Do()
	}
}

// refusedPath refuses a call with a path in argument arg.
func refusedPath(arg int, err errno) func(*kernel, *call) (uintptr, uintptr, errno) {
	return named(-1, arg, false, func(k *kernel, c *call, p place) (uintptr, uintptr, errno) {
		return k.refuse(p.machine, calls[c.Trap].name, err)
	})
}

// named serves a call with a name on a disk.
func named(dirfd, arg int, grows bool,
	serve func(*kernel, *call, place) (uintptr, uintptr, errno)) func(*kernel, *call) (uintptr, uintptr, errno) {
	return func(k *kernel, c *call) (uintptr, uintptr, errno) {
		p := k.find(c, dirfd, c.Text(arg), false)
		if p.machine == nil {
			return c.Do()
		}
		if err := p.machine.linger(grows); err != 0 {
			return failed(err)
		}
		return serve(k, c, k.find(c, dirfd, c.Text(arg), false)) // the time that passed may have changed the result
	}
}

const (
	oTmpfile = 0x400000
	oSync    = syscall.O_SYNC | syscall.O_DSYNC
)

// openFile opens a file, and creates or truncates it.
func (k *kernel) openFile(c *call, dirfd, arg int, flags, mode uintptr) (r1, r2 uintptr, err errno) {
	text := c.Text(arg)
	p := k.find(c, dirfd, text, flags&syscall.O_NOFOLLOW == 0)
	switch {
	case p.machine == nil:
		if virtual := k.proc(text); virtual >= 0 {
			return uintptr(virtual), 0, 0
		} else if virtual == hidden {
			return failed(syscall.ENOENT)
		}
		r1, r2, err = c.Do()
		if err == 0 {
			delete(k.open, r1)
		}
		return r1, r2, err
	case flags&oTmpfile != 0:
		return k.refuse(p.machine, "open with O_TMPFILE", syscall.EOPNOTSUPP)
	case flags&syscall.O_CREAT != 0 && p.inode == nil:
		if err := p.machine.linger(true); err != 0 {
			return failed(err)
		}
		p = k.find(c, dirfd, text, flags&syscall.O_NOFOLLOW == 0)
	}
	if c.Trap != syscall.SYS_CREAT {
		// The model decides what is durable. A real synchronous write would also wait for a disk in real time.
		c.Clear(arg+1, oSync)
	}
	if r1, r2, err = c.Do(); err != 0 {
		return r1, r2, err
	}
	m := p.machine
	delete(k.open, r1)
	switch {
	case p.inode != nil && p.inode.Kind == disk.File && flags&syscall.O_TRUNC != 0:
		m.settle(p.inode)
		m.disk.Resize(p.inode, 0)
	case p.inode == nil && p.dir != nil && flags&syscall.O_CREAT != 0:
		m.settle(p.dir)
		p.inode = m.disk.Make(p.dir, p.name, disk.File)
		p.inode.Mode = uint32(mode) & 0o7777 &^ k.umask
		m.settle(p.inode)
	case p.inode == nil && !k.adopt(&p, r1):
		_ = syscall.Close(int(r1))
		return k.refuse(m, "open of a file that the model does not know", syscall.EIO)
	}
	k.open[r1] = &opened{machine: m, inode: p.inode, incarnation: runtime.LockstepNode(), flags: flags}
	return r1, r2, 0
}

func (k *kernel) closeFile(c *call) (r1, r2 uintptr, err errno) {
	r1, r2, err = c.Do()
	delete(k.open, uintptr(uint32(c.Arg(0))))
	return r1, r2, err
}

func (k *kernel) dup(c *call) (r1, r2 uintptr, err errno) {
	o := k.descriptor(c, 0)
	r1, r2, err = c.Do()
	if err == 0 {
		delete(k.open, r1)
		if o != nil {
			k.open[r1] = o
		}
	}
	return r1, r2, err
}

func (k *kernel) fcntl(c *call) (r1, r2 uintptr, err errno) {
	switch o := k.descriptor(c, 0); {
	case c.Arg(1) == syscall.F_DUPFD || c.Arg(1) == syscall.F_DUPFD_CLOEXEC:
		return k.dup(c)
	case c.Arg(1) == syscall.F_SETFL && o != nil:
		o.flags = o.flags&^syscall.O_APPEND | c.Arg(2)&syscall.O_APPEND
	case c.Arg(1) == syscall.F_GETFL && o != nil:
		if r1, r2, err = c.Do(); err == 0 {
			r1 |= o.flags & oSync // openFile hides these flags from the kernel
		}
		return r1, r2, err
	}
	return c.Do()
}

// write serves all calls that write.
func (k *kernel) write(c *call) (r1, r2 uintptr, err errno) {
	o := k.descriptor(c, 0)
	if o == nil {
		return c.Do()
	}
	m := o.machine
	if err := m.linger(true); err != 0 {
		return failed(err)
	}
	if err := k.limit(c, o); err != 0 {
		return failed(err)
	}
	end := o.inode.Size()
	var data []byte
	if c.Trap == syscall.SYS_WRITE || c.Trap == syscall.SYS_PWRITE64 {
		if n := c.Arg(2); n > 0 {
			data = slices.Clone(unsafe.Slice((*byte)(c.Pointer(1)), n))
		}
	} else {
		for _, v := range unsafe.Slice((*syscall.Iovec)(c.Pointer(1)), c.Arg(2)) {
			if v.Len > 0 {
				data = append(data, unsafe.Slice(v.Base, v.Len)...)
			}
		}
	}
	if r1, r2, err = c.Do(); err != 0 {
		return r1, r2, err
	}
	at := end
	if o.flags&syscall.O_APPEND == 0 {
		at = position(c, int64(r1))
	}
	m.settle(o.inode)
	m.disk.Write(o.inode, at, data[:r1])
	if o.flags&oSync != 0 {
		if err := k.sync(m, o.inode, m.disk.SyncData); err != 0 {
			return failed(err)
		}
	}
	return r1, r2, 0
}

func (k *kernel) syncFile(c *call, durable func(*disk.Disk, *disk.Inode, uint64)) (r1, r2 uintptr, err errno) {
	o := k.descriptor(c, 0)
	if o == nil {
		return c.Do()
	}
	if err := k.sync(o.machine, o.inode,
		func(i *disk.Inode, began uint64) { durable(o.machine.disk, i, began) }); err != 0 {
		return failed(err)
	}
	return 0, 0, 0
}

func (k *kernel) syncAll(m *machine) errno {
	return k.sync(m, nil, func(_ *disk.Inode, began uint64) { m.disk.SyncAll(began) })
}

func (k *kernel) syncDisk(c *call) (r1, r2 uintptr, err errno) {
	if o := k.descriptor(c, 0); o != nil {
		return 0, 0, k.syncAll(o.machine)
	}
	return c.Do()
}

func (k *kernel) ftruncate(c *call) (r1, r2 uintptr, err errno) {
	o := k.descriptor(c, 0)
	if o == nil {
		return c.Do()
	}
	return k.resize(c, o.machine, o.inode, int64(c.Arg(1)))
}

func (k *kernel) truncate(c *call) (r1, r2 uintptr, err errno) {
	p := k.find(c, -1, c.Text(0), true)
	switch {
	case p.machine == nil:
		return c.Do()
	case p.inode == nil || p.inode.Kind != disk.File:
		if r1, r2, err = c.Do(); err == 0 {
			return k.refuse(p.machine, "truncate of a file that the model does not know", syscall.EIO)
		}
		return r1, r2, err
	}
	return k.resize(c, p.machine, p.inode, int64(c.Arg(1)))
}

func (k *kernel) resize(c *call, m *machine, i *disk.Inode, size int64) (r1, r2 uintptr, err errno) {
	if err := m.linger(size > i.Size()); err != 0 {
		return failed(err)
	}
	k.lookAll(m, i) // before the truncation
	if r1, r2, err = c.Do(); err == 0 {
		m.settle(i)
		m.disk.Resize(i, size)
	}
	return r1, r2, err
}

// fallocate extends a file by a hole: the model does not cover disk space.
func (k *kernel) fallocate(c *call) (r1, r2 uintptr, err errno) {
	o := k.descriptor(c, 0)
	if o == nil {
		return c.Do()
	}
	m, size := o.machine, int64(c.Arg(2)+c.Arg(3))
	switch mode := c.Arg(1); {
	case mode > 1:
		return k.refuse(m, "fallocate with a mode", syscall.EOPNOTSUPP)
	case mode == 1: // keeps the size
		return 0, 0, cmp.Or(m.linger(true), k.reserve(m, o.inode, size))
	}
	if err := cmp.Or(m.linger(true), k.reserve(m, o.inode, size)); err != 0 {
		return failed(err)
	}
	if size > o.inode.Size() {
		if _, _, err := syscall.RawSyscall(syscall.SYS_FTRUNCATE, c.Arg(0), uintptr(size), 0); err != 0 {
			return failed(err)
		}
		m.settle(o.inode)
		m.disk.Resize(o.inode, size)
	}
	return 0, 0, 0
}

func (k *kernel) mkdir(c *call, p place) (r1, r2 uintptr, err errno) {
	r1, r2, err = c.Do()
	if err == 0 && p.dir != nil {
		p.machine.settle(p.dir)
		i := p.machine.disk.Make(p.dir, p.name, disk.Directory)
		i.Mode = 0o700 // enough to restore it; other modes do not matter
		p.machine.settle(i)
	}
	return r1, r2, err
}

// makeNode creates the name of a unix socket. It refuses all other kinds of nodes.
func (k *kernel) makeNode(c *call, p place) (r1, r2 uintptr, err errno) {
	mode := c.Arg(2)
	if mode&syscall.S_IFMT != syscall.S_IFSOCK {
		return k.refuse(p.machine, "mknodat", syscall.EPERM)
	}
	r1, r2, err = c.Do()
	if err == 0 && p.dir != nil {
		p.machine.settle(p.dir)
		i := p.machine.disk.Make(p.dir, p.name, disk.Socket)
		i.Mode = uint32(mode) & 0o7777 &^ k.umask
		p.machine.settle(i)
	}
	return r1, r2, err
}

func (k *kernel) remove(c *call, p place) (r1, r2 uintptr, err errno) {
	r1, r2, err = c.Do()
	if err == 0 && p.dir != nil {
		p.machine.settle(p.dir)
		p.machine.disk.Remove(p.dir, p.name)
	}
	return r1, r2, err
}

func (k *kernel) symlink(c *call, p place) (r1, r2 uintptr, err errno) {
	r1, r2, err = c.Do()
	if err == 0 && p.dir != nil {
		p.machine.settle(p.dir)
		i := p.machine.disk.Make(p.dir, p.name, disk.Symlink)
		i.Target = c.Text(0)
		p.machine.settle(i)
	}
	return r1, r2, err
}

func (k *kernel) rename(c *call, olddir, old, newdir, name int, flags uintptr) (r1, r2 uintptr, err errno) {
	from, to := k.find(c, olddir, c.Text(old), false), k.find(c, newdir, c.Text(name), false)
	switch m := from.machine; {
	case m == nil && to.machine == nil:
		return c.Do()
	case m != to.machine:
		return failed(syscall.EXDEV) // another disk
	case flags > 1:
		return k.refuse(m, "renameat2 with flags", syscall.EINVAL)
	default:
		if err := m.linger(false); err != 0 {
			return failed(err)
		}
	}
	from, to = k.find(c, olddir, c.Text(old), false), k.find(c, newdir, c.Text(name), false)
	if r1, r2, err = c.Do(); err != 0 {
		return r1, r2, err
	}
	if from.inode == nil || from.dir == nil || to.dir == nil {
		return k.refuse(from.machine, "rename of a file that the model does not know", syscall.EIO)
	}
	from.machine.settle(from.dir, to.dir)
	from.machine.disk.Rename(from.dir, from.name, to.dir, to.name)
	return r1, r2, 0
}

func (k *kernel) link(c *call, olddir, old, newdir, name int, flags uintptr) (r1, r2 uintptr, err errno) {
	from, to := k.find(c, olddir, c.Text(old), flags&0x400 != 0), k.find(c, newdir, c.Text(name), false)
	switch m := from.machine; {
	case m == nil && to.machine == nil:
		return c.Do()
	case m != to.machine:
		return failed(syscall.EXDEV)
	case flags&0x1000 != 0:
		return k.refuse(m, "linkat of a descriptor", syscall.ENOENT)
	default:
		if err := m.linger(true); err != 0 {
			return failed(err)
		}
	}
	from, to = k.find(c, olddir, c.Text(old), flags&0x400 != 0), k.find(c, newdir, c.Text(name), false)
	if r1, r2, err = c.Do(); err != 0 {
		return r1, r2, err
	}
	if from.inode == nil || to.dir == nil {
		return k.refuse(from.machine, "link of a file that the model does not know", syscall.EIO)
	}
	to.machine.settle(to.dir)
	to.machine.disk.Link(to.dir, to.name, from.inode)
	return r1, r2, 0
}

func (k *kernel) chmod(c *call, i *disk.Inode, mode uintptr) (r1, r2 uintptr, err errno) {
	r1, r2, err = c.Do()
	if err == 0 && i != nil {
		i.Mode = uint32(mode) & 0o7777
	}
	return r1, r2, err
}

func (k *kernel) fchmod(c *call) (r1, r2 uintptr, err errno) {
	if o := k.descriptor(c, 0); o != nil {
		return k.chmod(c, o.inode, c.Arg(1))
	}
	return c.Do()
}

// ioctl refuses the requests that clone files.
func (k *kernel) ioctl(c *call) (r1, r2 uintptr, err errno) {
	const clone, cloneRange, dedupe = 0x40049409, 0x4020940d, 0xc0189436
	if o := k.descriptor(c, 0); o != nil && (c.Arg(1) == clone || c.Arg(1) == cloneRange || c.Arg(1) == dedupe) {
		return k.refuse(o.machine, "ioctl that clones", syscall.EOPNOTSUPP)
	}
	return c.Do()
}

// stat returns times by the node's clock, and numbers that do not depend on the machine.
func (k *kernel) stat(c *call, i *disk.Inode, arg int) (r1, r2 uintptr, err errno) {
	r1, r2, err = c.Do()
	if err == 0 && i != nil {
		st := (*syscall.Stat_t)(c.Pointer(arg))
		at := syscall.NsecToTimespec(i.Modified)
		st.Atim, st.Mtim, st.Ctim = at, at, at
		st.Ino, st.Dev, st.Blksize = uint64(i.Number), 1, disk.Block
		st.Blocks = (st.Size + disk.Sector - 1) / disk.Sector
	}
	return r1, r2, err
}

func (k *kernel) fstat(c *call) (r1, r2 uintptr, err errno) {
	if o := k.descriptor(c, 0); o != nil {
		return k.stat(c, o.inode, 1)
	}
	return c.Do()
}

func (k *kernel) fstatat(c *call) (r1, r2 uintptr, err errno) {
	if c.Arg(3)&0x1000 != 0 && c.Text(1) == "" { // of the descriptor itself
		if o := k.descriptor(c, 0); o != nil {
			return k.stat(c, o.inode, 2)
		}
		return c.Do()
	}
	return k.stat(c, k.find(c, 0, c.Text(1), c.Arg(3)&0x100 == 0).inode, 2)
}

// utimens sets the modification time of a file. The model has no other time.
func (k *kernel) utimens(c *call, p place) (r1, r2 uintptr, err errno) {
	const now, omit = 1<<30 - 1, 1<<30 - 2
	r1, r2, err = c.Do()
	if err != 0 || p.inode == nil {
		return r1, r2, err
	}
	modified := time.Now().UnixNano()
	if times := c.Pointer(2); times != nil {
		switch t := (*[2]syscall.Timespec)(times)[1]; t.Nsec {
		case now:
		case omit:
			modified = p.inode.Modified
		default:
			modified = t.Nano()
		}
	}
	p.inode.Modified = modified
	return r1, r2, err
}

// statfs returns a disk of fixed size: other processes on the machine must have no influence.
func (k *kernel) statfs(c *call) (r1, r2 uintptr, err errno) {
	r1, r2, err = c.Do()
	if err == 0 {
		f := (*syscall.Statfs_t)(c.Pointer(1))
		f.Bsize, f.Frsize, f.Blocks, f.Bfree, f.Bavail, f.Files, f.Ffree =
			disk.Block, disk.Block, 1<<26, 1<<25, 1<<25, 1<<24, 1<<23
		if m := k.here(); m.model.DiskBytes > 0 && m.faulty {
			free := uint64(max(0, m.model.DiskBytes-m.disk.Used()) / disk.Block)
			f.Blocks, f.Bfree, f.Bavail = uint64(m.model.DiskBytes/disk.Block), free, free
		}
	}
	return r1, r2, err
}
