package tendermint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/bubble"
)

// durable is the state of a validator that survives crashes.
type durable struct {
	chain, proofs *memDB // blocks and states; evidence
	app           int64  // the height that the application has committed
	log           []record
	synced        int // records of the log that a crash keeps for certain
	vote          *protoVote
	proposal      *protoProposal
}

// record is a record of the write-ahead log.
type record struct {
	data []byte
	end  int64 // the height that it ends, or -1
}

func newDurable() *durable { return &durable{chain: newMemDB(), proofs: newMemDB()} }

func (d *durable) clone() *durable {
	c := *d
	c.chain, c.proofs, c.log = copyDB(d.chain), copyDB(d.proofs), slices.Clone(d.log)
	return &c
}

func copyDB(db *memDB) *memDB {
	c := newMemDB()
	it, err := db.Iterator(nil, nil)
	for ; err == nil && it.Valid(); it.Next() {
		err = c.Set(bytes.Clone(it.Key()), bytes.Clone(it.Value()))
	}
	if err != nil {
		panic(err) // memory does not fail
	}
	_ = it.Close()
	return c
}

// database is one of a validator's databases: the library's own, in memory, on a disk that crashes.
type database struct {
	disk *disk
	of   func(*durable) *memDB
}

// disk is the validator's disk. Without the overlay, a write under the library's lock takes no time: goroutines that
// wait for the lock would keep a bubble from becoming quiescent.
type disk struct {
	*bubble.Disk[durable]
}

func (d *disk) locked(change func(*durable)) {
	if bubble.Overlay {
		d.Write(change)
		return
	}
	d.WriteNow(change)
}

func (d database) read(f func(*memDB)) { d.disk.Read(func(s *durable) { f(d.of(s)) }) }

// write applies changes atomically. A nil value deletes.
func (d database) write(changes ...[2][]byte) (err error) {
	d.disk.locked(func(s *durable) {
		for _, c := range changes {
			if c[1] == nil {
				err = errors.Join(err, d.of(s).Delete(c[0]))
			} else {
				err = errors.Join(err, d.of(s).Set(c[0], c[1]))
			}
		}
	})
	return err
}

func (d database) Get(key []byte) (v []byte, err error) {
	d.read(func(db *memDB) { v, err = db.Get(key) })
	return v, err
}

func (d database) Has(key []byte) (has bool, err error) {
	d.read(func(db *memDB) { has, err = db.Has(key) })
	return has, err
}

func (d database) Iterator(start, end []byte) (it kvIterator, err error) {
	d.read(func(db *memDB) { it, err = db.Iterator(start, end) })
	return it, err
}

func (d database) ReverseIterator(start, end []byte) (it kvIterator, err error) {
	d.read(func(db *memDB) { it, err = db.ReverseIterator(start, end) })
	return it, err
}

func (d database) Set(key, value []byte) error     { return d.write([2][]byte{key, value}) }
func (d database) SetSync(key, value []byte) error { return d.Set(key, value) }
func (d database) Delete(key []byte) error         { return d.write([2][]byte{key, nil}) }
func (d database) DeleteSync(key []byte) error     { return d.Delete(key) }
func (d database) NewBatch() kvBatch               { return &batch{to: d} }
func (database) Close() error                      { return nil }
func (database) Print() error                      { return nil }
func (database) Stats() map[string]string          { return nil }
func (database) Compact(_, _ []byte) error         { return nil }

// batch is a group of writes that are applied atomically.
type batch struct {
	to      database
	changes [][2][]byte
}

func (b *batch) Set(key, value []byte) error {
	b.changes = append(b.changes, [2][]byte{key, value})
	return nil
}

func (b *batch) Delete(key []byte) error {
	b.changes = append(b.changes, [2][]byte{key, nil})
	return nil
}

func (b *batch) Write() error     { return b.to.write(b.changes...) }
func (b *batch) WriteSync() error { return b.Write() }
func (b *batch) Close() error     { return nil }

// wal is a validator's write-ahead log. A crash keeps synced records, and some later ones; the last record may be
// torn.
type wal struct {
	disk *disk
}

// openWAL opens the log of an incarnation; rand draws the records that survived the previous crash. It reports
// whether a record was torn. The repair works like the library's repair of its files: records that its decoder cannot
// read are dropped.
func openWAL(d *disk, rand func(int) int) (w *wal, torn bool) {
	w, empty := &wal{d}, false
	d.WriteNow(func(s *durable) {
		kept := s.synced + rand(len(s.log)-s.synced+1)
		rest := s.log[kept:]
		s.log = s.log[:kept]
		if len(rest) > 0 && rand(2) == 1 {
			piece := rest[0].data[:1+rand(len(rest[0].data)-1)]
			if torn = !readable(piece); !torn {
				s.log = append(s.log, record{data: piece, end: -1})
			}
		}
		s.synced, empty = len(s.log), len(s.log) == 0
	})
	if empty {
		_ = w.append(endHeight{Height: 0}, true)
	}
	return w, torn
}

// readable reports whether the library accepts bytes as a record of its log.
func readable(data []byte) bool {
	_, err := newWALDecoder(bytes.NewReader(data)).Decode()
	return err == nil
}

func (w *wal) append(m walMessage, sync bool) error {
	var b bytes.Buffer
	if err := newWALEncoder(&b).Encode(&timedWALMessage{Time: time.Now(), Msg: m}); err != nil {
		return fmt.Errorf("write-ahead log: %w", err)
	}
	r, write := record{data: b.Bytes(), end: -1}, w.disk.Write
	switch m := m.(type) {
	case endHeight:
		r.end, write = m.Height, w.disk.locked
	case stepRecord:
		write = w.disk.locked
	}
	write(func(s *durable) {
		s.log = append(s.log, r)
		if sync {
			s.synced = len(s.log)
		}
	})
	return nil
}

func (w *wal) Write(m walMessage) error     { return w.append(m, false) }
func (w *wal) WriteSync(m walMessage) error { return w.append(m, true) }

func (w *wal) FlushAndSync() error {
	w.disk.locked(func(s *durable) { s.synced = len(s.log) })
	return nil
}

// SearchForEndHeight returns the records after the end of a height.
func (w *wal) SearchForEndHeight(height int64, _ *walSearch) (rd io.ReadCloser, found bool, err error) {
	var rest bytes.Buffer
	w.disk.Read(func(s *durable) {
		for _, r := range s.log {
			if found {
				rest.Write(r.data)
			}
			found = found || r.end == height
		}
	})
	if !found {
		return nil, false, nil
	}
	return io.NopCloser(&rest), true, nil
}

func (*wal) Start() error { return nil }
func (*wal) Stop() error  { return nil }
func (*wal) Wait()        {}
