//go:build lockstep_overlay && linux && amd64

package bubble_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/bubble"
	"github.com/lockstep-go/lockstep/bubble/disk"
	"github.com/lockstep-go/lockstep/strategy"
)

// bugs are known bugs of stores with a write-ahead log.
type bugs struct {
	unsynced     bool // a record counts as kept before its sync
	torn         bool // recovery does not check the checksum of a record
	snapshotData bool // the rename of a snapshot comes before its sync
	directory    bool // the store does not sync the directory after a rename
	recovered    bool // recovery does not sync the data that a killed process had written
}

// store is a store with a write-ahead log that calls package os directly. Its value is a list of records, which begins
// with those of the snapshot and continues in the log.
type store struct {
	bugs
	dir     string
	log     *os.File
	first   int // number of the first record in the log
	records int
}

// payload is the content of a record.
func payload(i int) []byte { return bytes.Repeat([]byte{byte(i + 1)}, 100+i*997%3500) }

// openStore recovers the store. It fails if the result is not a prefix of the written records.
func openStore(dir string, m bugs) (*store, error) {
	s := &store{bugs: m, dir: dir}
	snapshot, err := os.ReadFile(filepath.Join(dir, "snapshot"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case len(snapshot) != 4:
		return nil, fmt.Errorf("the snapshot has %d bytes", len(snapshot))
	default:
		s.first = int(binary.LittleEndian.Uint32(snapshot))
	}
	if s.log, err = os.OpenFile(filepath.Join(dir, "log"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := s.syncDir(); err != nil {
		return nil, err
	}
	return s, s.replay()
}

// replay reads the log and truncates it before the first incomplete record.
func (s *store) replay() error {
	data, err := os.ReadFile(s.log.Name())
	if err != nil {
		return err
	}
	good := 0
	for rest := data; len(rest) >= 12; {
		number, size, sum :=
			int(binary.LittleEndian.Uint32(rest)), int(binary.LittleEndian.Uint32(rest[4:])),
			binary.LittleEndian.Uint32(rest[8:])
		if size == 0 || len(rest) < 12+size {
			break
		}
		body := rest[12 : 12+size]
		if !s.torn && sum != crc32.ChecksumIEEE(append(rest[:8:8], body...)) {
			break
		}
		if number >= max(s.first, s.records) { // not a record from before the snapshot
			if !bytes.Equal(body, payload(number)) {
				return fmt.Errorf("record %d is damaged", number)
			}
			s.records = number + 1
		}
		rest = rest[12+size:]
		good += 12 + size
	}
	s.records = max(s.records, s.first)
	if err := s.log.Truncate(int64(good)); err != nil {
		return err
	}
	if _, err = s.log.Seek(int64(good), 0); err != nil || s.recovered {
		return err
	}
	return s.log.Sync()
}

// add appends a record.
func (s *store) add() error {
	body := payload(s.records)
	head := binary.LittleEndian.AppendUint32(nil, uint32(s.records))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(body)))
	head = binary.LittleEndian.AppendUint32(head, crc32.ChecksumIEEE(append(head[:8:8], body...)))
	if _, err := s.log.Write(append(head, body...)); err != nil {
		return err
	}
	if !s.unsynced {
		if err := s.log.Sync(); err != nil {
			return err
		}
	}
	s.records++
	return nil
}

// compact replaces the log by a snapshot.
func (s *store) compact() error {
	name := filepath.Join(s.dir, "snapshot")
	f, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(binary.LittleEndian.AppendUint32(nil, uint32(s.records)))
	if !s.snapshotData {
		err = errors.Join(err, f.Sync())
	}
	if err := errors.Join(err, f.Close(), os.Rename(name+".new", name), s.syncDir()); err != nil {
		return err
	}
	if err := s.log.Truncate(0); err != nil {
		return err
	}
	if _, err := s.log.Seek(0, 0); err != nil {
		return err
	}
	return s.log.Sync()
}

func (s *store) syncDir() error {
	if s.directory {
		return nil
	}
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// server keeps records, and makes a snapshot now and then.
func server(m bugs) func(*bubble.Node) error {
	return func(n *bubble.Node) error {
		dir, err := n.Dir()
		if err != nil {
			return err
		}
		s, err := openStore(dir, m)
		if err != nil {
			n.Emit("count", count{true, -1})
			return nil
		}
		n.Emit("count", count{true, s.records})
		for n.Alive() {
			if err := s.add(); err != nil {
				return err
			}
			n.Emit("count", count{false, s.records})
			if s.records%7 == 0 {
				if err := s.compact(); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// Power failures reveal the classic bugs of a store, at the levels at which they are bugs. Without bugs there is no
// finding.
func TestStore(t *testing.T) {
	for _, c := range []struct {
		name  string
		m     bugs
		found [2]bool // by level
	}{
		{"none", bugs{}, [2]bool{}},
		{"unsynced", bugs{unsynced: true}, [2]bool{true, true}},
		{"torn", bugs{torn: true}, [2]bool{true, true}},
		{"snapshot data", bugs{snapshotData: true}, [2]bool{true, true}},
		{"recovered", bugs{recovered: true}, [2]bool{true, true}},
		{"directory", bugs{directory: true}, [2]bool{false, true}},
	} {
		for _, level := range []disk.Level{disk.Ext4, disk.POSIX} {
			t.Run(c.name+" "+level.String(), func(t *testing.T) {
				result := underFaults(t, 150, bubble.Files{DiskLevel: level, PowerFailures: 0.8}, server(c.m), kept())
				f := result.First()
				if (f != nil) != c.found[level] {
					t.Fatalf("found: %+v", f)
				}
			})
		}
	}
}

// Shrinking reduces a finding to the weakest loss that still shows it: one power failure with a minimal loss. Shrinking
// may stop earlier; of three findings one gets there.
func TestWeakestLoss(t *testing.T) {
	for _, c := range []struct {
		name  string
		m     bugs
		level disk.Level
		want  string
	}{
		{"snapshot data", bugs{snapshotData: true}, disk.Ext4, "snapshot has 0 of 4 bytes"},
		{"directory", bugs{directory: true}, disk.POSIX, "the name log"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := faultPlan(600, bubble.Files{DiskLevel: c.level, PowerFailures: 0.8}, server(c.m), kept())
			plan.Strategy = strategy.Walk{Wait: 10, Crash: 1, Restart: 3, Steps: 40}
			for plan.Seed = range uint64(3) {
				small := shrunk(t, plan)
				losses := slices.DeleteFunc(texts(small.Trace, bubble.PowerFailure),
					func(s string) bool { return s == "nothing" })
				t.Logf("seed %d: %s, %d attempts: %s", plan.Seed, small.Is, small.Attempts, losses)
				if len(losses) == 1 && strings.Contains(losses[0], c.want) && !strings.Contains(losses[0], ",") {
					return
				}
			}
			t.Errorf("no finding is reduced to the loss %q alone", c.want)
		})
	}
}
