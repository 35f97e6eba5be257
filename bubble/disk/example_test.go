package disk_test

import (
	"fmt"

	"github.com/lockstep-go/lockstep/bubble/disk"
)

// everything is lost that can be.
func everything(n int) int { return n - 1 }

// A file is written and synced, then renamed. The name is lost, because nobody synced the
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

// The same on ext4, where the sync of the file wrote the journal with its name.
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
