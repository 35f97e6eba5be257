// Package spill keeps long sequences of numbers, called tapes, in memory as far as a limit allows and in one temporary
// file beyond it. Tapes are written at the end and read in order, so that a disk is only ever streamed.
//
// A store is used by many goroutines; a tape is written by one goroutine at a time and, once that is over, read by
// many readers, which may each drop pages that no other reader needs any more.
package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// DefaultPage is the unit of memory and of the file, as text, when Options.Page is 0.
const DefaultPage = 1 << 14

// ErrMemory and ErrDisk say which limit a store has reached.
var (
	ErrMemory = errors.New("the memory limit is reached")
	ErrDisk   = errors.New("the disk limit is reached")
)

// file is what a store needs of its temporary file.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Options of a store.
type Options struct {
	Memory int64  // limit in bytes, about: the page that every tape writes to is always in memory
	Disk   int64  // limit of the temporary file in bytes; 0: there is none
	Dir    string // directory of the temporary file; empty: the system's
	Page   int    // words; 0 means DefaultPage
}

// Store is where tapes live. Make one with Open, and Close it.
type Store struct {
	mu     sync.Mutex
	memory int64
	disk   int64
	page   int   // words
	used   int64 // bytes of pages in memory
	pages  [][]uint32
	file   file
	name   string // to be removed on Close; empty when there is nothing to remove
	end    int64  // of the file
	holes  []int64
	create func() (file, string, error)
}

// Open makes a store. Its file is made when it is first needed.
func Open(opt Options) *Store {
	if opt.Page == 0 {
		opt.Page = DefaultPage
	}
	return &Store{memory: opt.Memory, disk: opt.Disk, page: opt.Page, create: func() (file, string, error) {
		f, err := os.CreateTemp(opt.Dir, "lockstep-*.tmp")
		if err != nil {
			return nil, "", err
		}
		// Without a name the file is gone with the process, however that ends. Where an open file cannot lose its name,
		// Close removes it.
		if os.Remove(f.Name()) == nil {
			return f, "", nil
		}
		return f, f.Name(), nil
	}}
}

// Close gives memory and disk back. No tape of the store can be used any more.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages, s.holes, s.end, s.used = nil, nil, 0, 0
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	if s.name != "" {
		err = errors.Join(err, os.Remove(s.name))
	}
	return err
}

// Limit changes the memory limit.
func (s *Store) Limit(memory int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory = memory
}

// Memory is the number of bytes in memory.
func (s *Store) Memory() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used + int64(len(s.pages))*s.pageBytes()
}

// Disk is the size of the temporary file.
func (s *Store) Disk() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end
}

// pageBytes is the size of a page.
func (s *Store) pageBytes() int64 { return int64(s.page) * 4 }

// empty gives out an empty page. No caller waits while a new one is made.
func (s *Store) empty() []uint32 {
	if p := s.again(); p != nil {
		return p[:0]
	}
	return make([]uint32, 0, s.page)
}

// again counts a page that is given out, and returns one that was given back, if there is any.
func (s *Store) again() []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used += s.pageBytes()
	last := len(s.pages) - 1
	if last < 0 {
		return nil
	}
	p := s.pages[last]
	s.pages = s.pages[:last]
	return p
}

// give takes a page back. Pages that were trimmed are left to the garbage collector.
func (s *Store) give(p []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= int64(cap(p)) * 4
	if cap(p) == s.page && s.used+int64(len(s.pages)+1)*s.pageBytes() <= s.memory {
		s.pages = append(s.pages, p)
	}
}

// trim copies the content of a page to a piece of memory that it fills.
func (s *Store) trim(p []uint32) []uint32 {
	small := append(make([]uint32, 0, len(p)), p...)
	s.mu.Lock()
	s.used += int64(cap(small)) * 4
	s.mu.Unlock()
	s.give(p)
	return small
}

// crowded says whether a full page should go to the disk, and fails when it should and cannot.
func (s *Store) crowded() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.used <= s.memory:
		return false, nil
	case s.disk == 0:
		return false, ErrMemory
	}
	return true, nil
}

// place reserves space for a page in the file.
func (s *Store) place() (file, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.holes) - 1; last >= 0 {
		at := s.holes[last]
		s.holes = s.holes[:last]
		return s.file, at, nil
	}
	if s.end+s.pageBytes() > s.disk {
		return nil, 0, ErrDisk
	}
	if s.file == nil {
		f, name, err := s.create()
		if err != nil {
			return nil, 0, fmt.Errorf("temporary file: %w", err)
		}
		s.file, s.name = f, name
	}
	s.end += s.pageBytes()
	return s.file, s.end - s.pageBytes(), nil
}

// raws are pages as bytes, on their way between memory and file.
var raws = sync.Pool{New: func() any { return new([]byte) }}

// raw gets a page as bytes; it is to be put back.
func raw(words int) *[]byte {
	b := raws.Get().(*[]byte)
	*b = slices.Grow((*b)[:0], words*4)[:words*4]
	return b
}

// write puts a page into the file.
func (s *Store) write(p []uint32) (int64, error) {
	f, at, err := s.place()
	if err != nil {
		return 0, err
	}
	b := raw(len(p))
	defer raws.Put(b)
	for i, w := range p {
		binary.LittleEndian.PutUint32((*b)[i*4:], w)
	}
	if _, err := f.WriteAt(*b, at); err != nil {
		s.free(at)
		return 0, fmt.Errorf("temporary file: %w", err)
	}
	return at, nil
}

// free makes a place in the file available again.
func (s *Store) free(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holes = append(s.holes, at)
}

// read fetches words from the file.
func (s *Store) read(at int64, buf []uint32) error {
	s.mu.Lock()
	f := s.file
	s.mu.Unlock()
	b := raw(len(buf))
	defer raws.Put(b)
	if _, err := f.ReadAt(*b, at); err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	for i := range buf {
		buf[i] = binary.LittleEndian.Uint32((*b)[i*4:])
	}
	return nil
}
