// Package disk is a model of what a disk holds after a power failure. It stands beside the files that a program works
// with. The caller reports every change of names and data and every sync, and the model says what may be left when the
// power fails. A program that keeps a value instead of files uses bubble.Disk, and a system of step functions uses
// package kit/storage.
//
// # What is on the disk
//
// A program sees the page cache: the newest version of everything. The disk has, for each item that it stores, one of
// the versions between the last synced one and the newest. Items are
//
//   - a sector, 512 bytes of a file. The disk writes a sector atomically; a write of several sectors may be torn. A
//     version includes all earlier writes to the sector.
//   - the length of a file. A write extends it block by block, of 4096 bytes.
//   - the names in a directory. A rename is one change, of one or two directories.
//
// Bytes below the length that never reached the disk are zeros. Versions above a certain age are on the disk, because
// the kernel writes them back.
//
// # POSIX
//
// The level [POSIX] guarantees only two things. A sync of a file makes its data and length durable, and a sync of a
// directory makes the changes of its names durable. Everything else is independent. Each sector and each length may be
// of any version, and each change of names may be lost, but changes of the same name keep their order.
//
// # Ext4
//
// The level [Ext4] models ext4 with its default options (data=ordered, delayed allocation, auto_da_alloc): changes of
// names and lengths go through one journal. The journal ends at some moment: changes before it are on the disk, and
// later changes are not. A sync of any file or directory commits the journal up to then. In detail:
//
//   - A file that became longer by writing has any length between that of the last resize before the moment and that at
//     the moment. If the file grew into a block, the data that it grew with is there; the rest of the block may be
//     zeros.
//   - Sectors within the length are of any version. A truncation removes data for good. Data written to blocks that the
//     truncation freed is lost if the truncation is lost.
//   - A rename that replaced a file, and is on the disk, has the data of the file that it renamed.
//   - A sync of data alone commits the journal only up to the last change of the file's length or name.
//
// # Failing syncs
//
// After a sync that fails, the data of that sync counts as clean. No later sync writes it, unless the program writes to
// it again. Linux does the same.
package disk
