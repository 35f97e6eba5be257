package etcdraft

import "github.com/lockstep-go/lockstep/target/etcdraft/internal/raftlib"

// prefixes holds a hash for every prefix of a log, so that two logs are compared up to an
// index at the price of one comparison. The hash of a prefix covers the terms and the
// data of all of its entries, from the first entry of the run.
type prefixes struct {
	base uint64   // index of the prefix that hashes[0] is for
	hash []uint64 // of the prefixes up to base, base+1, ...
}

// extend is the hash of a prefix with one more entry.
func extend(prefix uint64, e *Entry) uint64 {
	h := mixer(prefix)
	h.mix(e.Term<<2 | uint64(e.Kind))
	for _, b := range e.Data {
		h = (h ^ mixer(b)) * 1099511628211
	}
	return uint64(h ^ h>>31)
}

func (p *prefixes) reset(base, hash uint64) { p.base, p.hash = base, append(p.hash[:0], hash) }

func (p *prefixes) restore(base, hash uint64, disk raftlib.Disk) {
	p.reset(base, hash)
	for i := range disk.Terms() {
		e := disk.Entry(base + 1 + uint64(i))
		hash = extend(hash, &e)
		p.hash = append(p.hash, hash)
	}
}

// last is the index of the log's last entry.
func (p *prefixes) last() uint64 { return p.base + uint64(len(p.hash)) - 1 }

// append replaces the log from the first entry's index on.
func (p *prefixes) append(entries []Entry) {
	for i := range entries {
		e := &entries[i]
		if e.Index <= p.base || e.Index > p.last()+1 {
			continue // within the snapshot, or a gap that the spec complains about
		}
		at := e.Index - p.base
		p.hash = append(p.hash[:at], extend(p.hash[at-1], e))
	}
}

// upTo is the hash of the prefix up to an index, and whether it is known.
func (p *prefixes) upTo(index uint64) (uint64, bool) {
	if index < p.base || index > p.last() {
		return 0, false
	}
	return p.hash[index-p.base], true
}
