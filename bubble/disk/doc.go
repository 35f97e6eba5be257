// Package disk is a model of what a disk holds after a power failure. It stands beside the
// files that a program works with: it is told every change of names and data and every sync,
// and says what may be left when the power fails. A program that keeps a value instead of files
// has bubble.Disk, and a system of step functions has package kit/storage.
//
// # What is on the disk
//
// A program sees the page cache: the newest version of everything. The disk has, for each
// thing that it stores, one of the versions between the last that was synced and the newest.
// Things are
//
//   - a sector, 512 bytes of a file. It is written at once and never torn itself; a write of
//     several sectors may be. A version holds all writes to the sector before it.
//   - the length of a file. A write moves it block by block, of 4096 bytes.
//   - the names in a directory. A rename is one change, of one or two directories.
//
// Bytes below the length that never reached the disk are zeros. What is older than a while
// is on the disk, because the kernel writes it back.
//
// # POSIX
//
// At the level [POSIX] all that is promised is that a sync of a file makes its data and
// length durable, and a sync of a directory the changes of its names. Everything else is
// independent: each sector and each length may be of any version, and each change of names
// may be lost, but changes of the same name keep their order.
//
// # Ext4
//
// At the level [Ext4] it is as on ext4 with its default options (data=ordered, delayed
// allocation, auto_da_alloc): changes of names and lengths go through one journal. A moment
// divides it: what was changed before is on the disk, what came after is not. A sync of any
// file or directory commits the journal up to then. In detail:
//
//   - A file that became longer by writing has any length between that of the last resize
//     before the moment and that at the moment. Where it grew into a block, that with which
//     it did is there; the rest of a block may be zeros.
//   - Sectors within the length are of any version; a truncation takes what it cut off for
//     good, and what was written to blocks that it freed is lost if the truncation is.
//   - A rename that replaced a file, and is on the disk, has the data of the file that it
//     renamed.
//   - A sync of data alone commits the journal only as far as it is about the file's length
//     or name.
//
// # Failing syncs
//
// After a sync that fails, what was to be written counts as clean: no later sync writes it,
// unless it is written to again. That is what Linux does.
package disk
