package disk_test

import (
	"fmt"

	"github.com/lockstep-go/lockstep/bubble/disk"
)

// everything chooses the largest loss.
func everything(n int) int { return n - 1 }

// A program writes and syncs a file, and then renames it. The name is lost, because the program did not sync the
// directory.
func ExampleDisk_Crash() {
	d := disk.New(disk.POSIX)
	d.Write(d.Make(d.Root(), "config", disk.File), 0, []byte("old"))
	d.SyncAll(d.Moment())

	f := d.Make(d.Root(), "config.tmp", disk.File)
	d.Write(f, 0, []byte("new!"))
	d.Sync(f, d.Moment())
	d.Rename(d.Root(), "config.tmp", d.Root(), "config")

	fmt.Println("lost:", d.Crash(everything))
	data := make([]byte, 4)
	n := d.Root().Entry("config").ReadAt(data, 0)
	fmt.Printf("%s\n", data[:n])
	// Output:
	// lost: the name config.tmp, the renaming of config.tmp to config
	// old
}

// On ext4, the sync of the file also wrote the journal with its name.
func ExampleDisk_Sync() {
	d := disk.New(disk.Ext4)
	f := d.Make(d.Root(), "log", disk.File)
	d.Write(f, 0, []byte("synced"))
	d.Sync(f, d.Moment())
	d.Write(f, 6, []byte(" and not"))

	fmt.Println("lost:", d.Crash(everything))
	// Output: lost: log has 6 of 14 bytes, log has 1 older sectors
}

// A file that was there before cannot be lost.
func ExampleDisk_Place() {
	d := disk.New(disk.POSIX)
	d.Place(d.Root(), "old", disk.File, []byte("content"))
	fmt.Println("lost:", d.Crash(everything), d.Root().Names())
	// Output: lost: nothing [old]
}

// Adding a name to a file is one change, and removing a name another. On ext4, all changes after some moment are lost.
func ExampleDisk_Link() {
	d := disk.New(disk.Ext4)
	f := d.Place(d.Root(), "old", disk.File, []byte("content"))
	d.Link(d.Root(), "new", f)
	d.Remove(d.Root(), "old")

	fmt.Println("lost:", d.Crash(func(n int) int { return min(1, n-1) }), d.Root().Names()) // the last change
	// Output: lost: the removal of old [new old]
}

// Truncated data may reappear after a crash. A sync of data alone is enough to make the length durable.
func ExampleDisk_Resize() {
	for _, sync := range []bool{false, true} {
		d := disk.New(disk.POSIX)
		f := d.Place(d.Root(), "log", disk.File, make([]byte, 1000))
		d.Resize(f, 100)
		if sync {
			d.SyncData(f, d.Moment())
		}
		loss := d.Crash(everything)
		fmt.Println(loss, "and nothing else:", loss.None(), f.Size())
	}
	// Output:
	// log has 1000 of 100 bytes, log has 2 older sectors and nothing else: false 1000
	// nothing and nothing else: true 100
}

// After a sync that failed, the next one does not write the data of the first.
func ExampleDisk_SyncFailed() {
	d := disk.New(disk.POSIX)
	f := d.Place(d.Root(), "log", disk.File, []byte("old"))
	d.Write(f, 0, []byte("new"))
	d.SyncFailed(f, d.Moment())
	d.Sync(f, d.Moment())

	fmt.Println("lost:", d.Crash(everything))
	f.Extents(func(at int64, data *[disk.Sector]byte) { fmt.Printf("at %d: %s\n", at, data[:3]) })
	// Output:
	// lost: log has 1 older sectors
	// at 0: old
}

// The kernel writes data back after a while.
func ExampleDisk_WriteBack() {
	d := disk.New(disk.POSIX)
	d.Time = 10
	d.Make(d.Root(), "early", disk.File)
	d.Time = 20
	d.Make(d.Root(), "late", disk.File)
	d.WriteBack(15)

	fmt.Println("lost:", d.Crash(everything), d.Root().Names())
	// Output: lost: the name late [early]
}

// A drive that flips a bit damages only data that is on the disk. A block that the drive cannot read is whole again
// after the program has written all of it.
func ExampleDisk_Damage() {
	d := disk.New(disk.Ext4)
	f := d.Place(d.Root(), "log", disk.File, make([]byte, 2*disk.Block))
	first := func(int) int { return 0 }
	wound, done := d.Damage(disk.BitRot, first)
	fmt.Println(wound, done)
	wound, done = d.Damage(disk.Unreadable, first)
	fmt.Println(wound, done)
	fmt.Println(f.Readable(0, 2*disk.Block), f.Tears(100, 10), f.Tears(0, disk.Block))
	d.Write(f, 0, make([]byte, disk.Block))
	fmt.Println(f.Readable(0, 2*disk.Block))
	// Output:
	// bit rot: block 0 of log, bit 0 true
	// unreadable block: block 0 of log true
	// 0 true false
	// 8192
}

// A program reserves space before it writes, so that the write cannot fail because the disk is full.
func ExampleDisk_Reserve() {
	d := disk.New(disk.Ext4)
	d.Counts = true
	f := d.Make(d.Root(), "log", disk.File)
	fmt.Println(f.Needs(0, 5000), d.Used())
	d.Reserve(f, 0, 5000)
	fmt.Println(f.Needs(0, 5000), d.Used())
	// Output:
	// 8192 0
	// 0 8192
}

func ExampleLevel_Words() {
	fmt.Println(disk.POSIX.Words())
	// Output: [ext4 posix]
}
