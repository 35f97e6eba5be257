//go:build lockstep_overlay && linux && amd64

package bubble

import (
	"syscall"
	"unsafe"

	"github.com/lockstep-go/lockstep/bubble/disk"
)

// reading are the calls that read. The model serves them only if reads can fail or take time.
func reading() map[uintptr]service {
	return map[uintptr]service{
		syscall.SYS_READ:    {"read", (*kernel).read},
		syscall.SYS_PREAD64: {"pread64", (*kernel).read},
		syscall.SYS_READV:   {"readv", (*kernel).read},
		syscall.SYS_PREADV:  {"preadv", (*kernel).read},
	}
}

// position is the offset in its file of a call that reads or writes. done is what the kernel has already added to the
// offset of the descriptor.
func position(c *call, done int64) int64 {
	switch c.Trap {
	case syscall.SYS_PREAD64, syscall.SYS_PWRITE64, syscall.SYS_PREADV, syscall.SYS_PWRITEV:
		return int64(c.Arg(3))
	}
	at, _, _ := syscall.RawSyscall(syscall.SYS_LSEEK, c.Arg(0), 0, 1)
	return int64(at) - done
}

// length is the number of bytes that a call asks to read or write.
func length(c *call) (n int64) {
	switch c.Trap {
	case syscall.SYS_READ, syscall.SYS_WRITE, syscall.SYS_PREAD64, syscall.SYS_PWRITE64:
		return int64(c.Arg(2))
	}
	for _, v := range unsafe.Slice((*syscall.Iovec)(c.Pointer(1)), c.Arg(2)) {
		n += int64(v.Len)
	}
	return n
}

// shorten makes a call read or write at most n bytes. One with several buffers uses fewer of them, and at least the
// first: it reports whether it could.
func shorten(c *call, n int64) bool {
	switch c.Trap {
	case syscall.SYS_READ, syscall.SYS_WRITE, syscall.SYS_PREAD64, syscall.SYS_PWRITE64:
		c.Set(2, uintptr(n))
		return n > 0
	}
	buffers := 0
	for _, v := range unsafe.Slice((*syscall.Iovec)(c.Pointer(1)), c.Arg(2)) {
		if n -= int64(v.Len); n < 0 {
			break
		}
		buffers++
	}
	if buffers > 0 {
		c.Set(2, uintptr(buffers))
	}
	return buffers > 0
}

// read serves the calls that read files. They take time, and may fail.
func (k *kernel) read(c *call) (r1, r2 uintptr, err errno) {
	o := k.descriptor(c, 0)
	if o == nil || o.inode.Kind != disk.File {
		return c.Do()
	}
	m := o.machine
	if !m.world.Settling() {
		m.sleep(m.model.ReadTimes.draw(m.chance))
		if m.strikes(m.model.ReadErrors) {
			return failed(m.fail("read", syscall.EIO))
		}
	}
	at, n := position(c, 0), length(c)
	if good := o.inode.Readable(at, min(n, o.inode.Size()-at)); good < min(n, o.inode.Size()-at) && !shorten(c, good) {
		return failed(m.fail("read", syscall.EIO))
	}
	return c.Do()
}

// limit shortens a write, or makes it fail, by the faults of the disk.
func (k *kernel) limit(c *call, o *opened) errno {
	m, n := o.machine, length(c)
	if !m.faulty || n == 0 {
		return 0
	}
	at := o.inode.Size()
	if o.flags&syscall.O_APPEND == 0 {
		at = position(c, 0)
	}
	if o.inode.Tears(at, n) || !m.world.Settling() && m.chance.strikes(m.model.WriteErrors) {
		return m.fail("write", syscall.EIO)
	}
	fits := k.space(m, o.inode, at, n)
	if fits < n && !shorten(c, fits) {
		return m.fail("write", syscall.ENOSPC)
	}
	if n = length(c); n > 1 && !m.world.Settling() && m.chance.strikes(m.model.ShortWrites) {
		m.world.failed(m.node, diskFailed)
		shorten(c, n-1-int64(m.chance.IntN(int(n-1))))
	}
	return 0
}

// reserve occupies the blocks of a file up to a size, as fallocate does.
func (k *kernel) reserve(m *machine, i *disk.Inode, size int64) errno {
	if k.space(m, i, 0, size) < size {
		return m.fail("fallocate", syscall.ENOSPC)
	}
	m.disk.Reserve(i, 0, size)
	return 0
}
