package bubble

import (
	"cmp"
	"errors"
	"time"

	"github.com/lockstep-go/lockstep/bubble/disk"
	"github.com/lockstep-go/lockstep/internal/option"
)

// FaultOptions are the fault models [Files], [Faults] and [Links] as options of a target, so that all targets have the
// same options. A target embeds the struct in its own options and passes it to its [Cluster], where a nonzero option
// takes precedence. A field has the name of the field of the fault model that it sets; only DiskKilobytes sets
// DiskBytes. Options of disks need a cluster with Freeze.Files, and most others need the overlay. The zero value adds
// no faults.
type FaultOptions struct {
	// DiskLevel to StartKills are fields of Files.
	DiskLevel         disk.Level `help:"what a power failure may lose: ext4, or posix, where also names are lost without a sync of their directory"`
	SyncTimes         Delay      `help:"times that syncs take, like 10ms, 1ms..10ms or 1ms..10ms+0.01:2s (one of a hundred up to 2s)"`
	WriteTimes        Delay      `help:"times that changes of files take, like sync-times"`
	ReadTimes         Delay      `help:"times that reads of files take, like sync-times"`
	FaultyDisks       int        `help:"nodes whose disks may fail or be damaged, in all options below; 0: a minority" range:"0..64"`
	SyncErrors        float64    `help:"share of syncs that fail with EIO; no later sync writes that data" range:"0..1"`
	ReadErrors        float64    `help:"share of reads of files that fail with EIO" range:"0..1"`
	WriteErrors       float64    `help:"share of writes to files that fail with EIO" range:"0..1"`
	FullDisk          float64    `help:"share of writes and new files that fail with ENOSPC" range:"0..1"`
	ShortWrites       float64    `help:"share of writes that write only a part" range:"0..1"`
	DiskKilobytes     int        `help:"size of a faulty disk in kilobytes; 0: unlimited" range:"0..1073741824"`
	BitRot            float64    `help:"share of crashes after which one bit of synced data is flipped" range:"0..1"`
	LostWrites        float64    `help:"share of crashes after which a synced block has its previous content" range:"0..1"`
	MisdirectedWrites float64    `help:"share of crashes after which a synced block was written over another one" range:"0..1"`
	UnreadableBlocks  float64    `help:"share of crashes after which reads of a synced block fail with EIO" range:"0..1"`
	StartKills        float64    `help:"share of restarts in which the process is killed at one of its first changes of files" range:"0..1"`

	// MaxPause, MaxJump and MaxDrift are fields of Faults.
	MaxPause time.Duration `help:"maximum time that a node is paused in a step pause; 0: no such steps" range:"0s.."`
	MaxJump  time.Duration `help:"how far clocks are wrong at most, and jump in a step jump; 0: not at all" range:"0s.."`
	MaxDrift int           `help:"how much faster or slower clocks run at most, in millionths" range:"0..100000"`

	// Reconfigure is a field of Faults.
	Reconfigure float64 `help:"share of restarts with another configuration of the program" range:"0..1"`

	// Preempt and PreemptTime are fields of Preemption.
	Preempt     float64 `help:"share of points in the program at which a goroutine loses its turn" range:"0..0.5"`
	PreemptTime Delay   `help:"times for which such a goroutine stops, like sync-times; 0s: the others run once"`

	// Latency to LookupErrors are fields of Links.
	Latency       Delay         `help:"latency of messages, like sync-times"`
	LatencySpread int           `help:"largest factor by which the latency of a link is longer, drawn for each link" range:"0..1000"`
	Bandwidth     int           `help:"bytes that a link transports in a second; 0: no limit" range:"0..1073741824"`
	PacketLoss    float64       `help:"largest share of packets that a link loses, drawn for each link and direction" range:"0..1"`
	Resets        float64       `help:"share of writes on connections that reset the connection; data in flight is lost" range:"0..1"`
	HalfOpen      float64       `help:"share of writes on connections after which the network discards everything on it" range:"0..1"`
	SlowReads     float64       `help:"share of reads from connections that take time although data is there" range:"0..1"`
	SlowReadTime  time.Duration `help:"maximum time that such a read takes; 0: 10s" range:"0s.."`
	LookupErrors  float64       `help:"share of lookups of host names that fail" range:"0..1"`
}

// storage reports whether an option is about files.
func (o FaultOptions) storage() bool {
	o.MaxPause, o.MaxJump, o.MaxDrift, o.Reconfigure = 0, 0, 0, 0
	o.Preempt, o.PreemptTime = 0, Delay{}
	o.setLinks(Links{})
	return o != FaultOptions{}
}

// links are the options of links.
func (o FaultOptions) links() Links {
	l := Links{
		Latency: o.Latency, LatencySpread: o.LatencySpread, Bandwidth: o.Bandwidth, PacketLoss: o.PacketLoss,
		Resets:   o.Resets,
		HalfOpen: o.HalfOpen, SlowReads: o.SlowReads, SlowReadTime: o.SlowReadTime, LookupErrors: o.LookupErrors,
	}
	if l.SlowReads > 0 {
		l.SlowReadTime = cmp.Or(l.SlowReadTime, 10*time.Second)
	}
	return l
}

// setLinks sets the options of links.
func (o *FaultOptions) setLinks(l Links) {
	o.Latency, o.LatencySpread, o.Bandwidth = l.Latency, l.LatencySpread, l.Bandwidth
	o.PacketLoss, o.Resets = l.PacketLoss, l.Resets
	o.HalfOpen, o.SlowReads, o.SlowReadTime, o.LookupErrors = l.HalfOpen, l.SlowReads, l.SlowReadTime, l.LookupErrors
}

// override replaces a value by an option that is set.
func override[V comparable](value *V, with V) { *value = cmp.Or(with, *value) }

// withOptions is the cluster with its FaultOptions in its fault models.
func (c Cluster) withOptions() (Cluster, error) {
	o := c.FaultOptions
	if o == (FaultOptions{}) {
		return c, nil
	}
	if err := option.Check(o); err != nil {
		return c, err
	}
	if o.storage() {
		if c.Freeze == nil || c.Freeze.Files == nil {
			return c, errors.New("an option about disks needs nodes with files, which the cluster does not model")
		}
		freeze, files := *c.Freeze, *c.Freeze.Files
		o.files(&files)
		freeze.Files, c.Freeze = &files, &freeze
	}
	override(&c.Faults.MaxPause, o.MaxPause)
	override(&c.Faults.MaxJump, o.MaxJump)
	override(&c.Faults.MaxDrift, o.MaxDrift)
	override(&c.Faults.Reconfigure, o.Reconfigure)
	override(&c.Preemption.Share, o.Preempt)
	override(&c.Preemption.Time, o.PreemptTime)
	if l := o.links(); l != (Links{}) {
		c.Links = &l
	}
	return c, nil
}

// files sets the fields of a model of files for which there are options.
func (o FaultOptions) files(f *Files) {
	override(&f.DiskLevel, o.DiskLevel)
	override(&f.SyncTimes, o.SyncTimes)
	override(&f.WriteTimes, o.WriteTimes)
	override(&f.ReadTimes, o.ReadTimes)
	override(&f.FaultyDisks, o.FaultyDisks)
	override(&f.SyncErrors, o.SyncErrors)
	override(&f.ReadErrors, o.ReadErrors)
	override(&f.WriteErrors, o.WriteErrors)
	override(&f.FullDisk, o.FullDisk)
	override(&f.ShortWrites, o.ShortWrites)
	override(&f.DiskBytes, int64(o.DiskKilobytes)<<10)
	override(&f.BitRot, o.BitRot)
	override(&f.LostWrites, o.LostWrites)
	override(&f.MisdirectedWrites, o.MisdirectedWrites)
	override(&f.UnreadableBlocks, o.UnreadableBlocks)
	override(&f.StartKills, o.StartKills)
}
