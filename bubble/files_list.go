//go:build lockstep_overlay && linux && amd64

package bubble

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"syscall"
	"unsafe"

	"github.com/lockstep-go/lockstep/bubble/disk"
	"github.com/lockstep-go/lockstep/internal/mix"
)

// dirent is a name in a directory, with its type as the kernel writes it.
type dirent struct {
	name string
	kind byte
}

// The layout of a directory entry as the kernel writes it: number, offset, length, type, and the name with a zero byte.
const (
	direntLength = 16
	direntKind   = 18
	direntName   = 19
)

// list returns the names in a directory, in an order by a hash, as on ext4. With ext4 each file system has its own
// order; here each run has. The order must depend neither on the file system that has the directory, nor on its earlier
// content.
func (k *kernel) list(c *call) (r1, r2 uintptr, err errno) {
	o := k.descriptor(c, 0)
	if o == nil || o.inode.Kind != disk.Directory {
		return c.Do()
	}
	if !o.listed {
		if o.names, err = entries(c.Arg(0)); err != 0 {
			return failed(err)
		}
		seed := o.machine.world.Seed()
		slices.SortFunc(o.names, func(a, b dirent) int {
			return cmp.Or(cmp.Compare(mix.Scramble(mix.Text(a.name)^seed), mix.Scramble(mix.Text(b.name)^seed)),
				cmp.Compare(a.name, b.name))
		})
		o.listed = true
	}
	var buffer []byte
	if n := c.Arg(2); n > 0 {
		buffer = unsafe.Slice((*byte)(c.Pointer(1)), n)
	}
	used := 0
	for len(o.names) > 0 {
		n := put(buffer[used:], o.names[0], o.inode)
		if n == 0 {
			break
		}
		used, o.names = used+n, o.names[1:]
	}
	if used == 0 && len(o.names) > 0 {
		return failed(syscall.EINVAL)
	}
	return uintptr(used), 0, 0
}

// put writes a directory entry and returns its length, or 0 if the buffer is too short.
func put(buffer []byte, d dirent, dir *disk.Inode) int {
	size := (direntName + len(d.name) + 1 + 7) &^ 7
	if size > len(buffer) {
		return 0
	}
	clear(buffer[:size])
	number := 1
	if i := dir.Entry(d.name); i != nil {
		number = i.Number
	}
	binary.LittleEndian.PutUint64(buffer, uint64(number))
	binary.LittleEndian.PutUint64(buffer[8:], 1)
	binary.LittleEndian.PutUint16(buffer[direntLength:], uint16(size))
	buffer[direntKind] = d.kind
	copy(buffer[direntName:], d.name)
	return size
}

// entries reads all names in an open directory, from the current position.
func entries(fd uintptr) (list []dirent, _ errno) {
	buffer := make([]byte, 1<<14)
	for {
		n, _, err := syscall.RawSyscall(syscall.SYS_GETDENTS64, fd, uintptr(unsafe.Pointer(&buffer[0])),
			uintptr(len(buffer)))
		if err != 0 || n == 0 {
			return list, err
		}
		for rest := buffer[:n]; len(rest) > 0; {
			size := binary.LittleEndian.Uint16(rest[direntLength:])
			name, _, _ := bytes.Cut(rest[direntName:size], []byte{0})
			list = append(list, dirent{string(name), rest[direntKind]})
			rest = rest[size:]
		}
	}
}

// seek makes the next listing of a directory start again.
func (k *kernel) seek(c *call) (r1, r2 uintptr, err errno) {
	if o := k.descriptor(c, 0); o != nil && o.listed {
		o.listed, o.names = false, nil
	}
	return c.Do()
}

// inMemory is a directory in memory, if the machine has one with enough free space; otherwise it is empty. Files of
// nodes need not last, and the model decides what is durable. A real file system would take up to a third of the time
// of some runs.
func inMemory() string {
	const (
		dir   = "/dev/shm"
		tmpfs = 0x01021994
		space = 2 << 30
	)
	var f syscall.Statfs_t
	if syscall.Statfs(dir, &f) != nil || f.Type != tmpfs || f.Bavail*uint64(f.Bsize) < space {
		return ""
	}
	return dir
}
