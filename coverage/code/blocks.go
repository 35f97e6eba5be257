package code

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/coverage"
	"slices"
)

// Block is a sequence of statements that are executed together.
type Block struct {
	// File is the source file: the import path of its package and its name.
	File string
	// The positions of its begin and end, from 1.
	StartLine, StartColumn, EndLine, EndColumn int
	// Statements is the number of statements in it.
	Statements int
}

// Blocks are the blocks of a program that have counters.
type Blocks struct {
	// List has them in the order of their numbers.
	List []Block
	// Packages are the import paths of the packages that have blocks, sorted.
	Packages []string

	// first has by package and function the number of its first block. It is nil for a main package, which is not part
	// of the system but starts the program.
	first [][]int
	hash  [16]byte // of the program's description
	of    []int    // by block: index of its package in Packages
}

// ErrNoCounters means that the program was built without counters of its statements.
var ErrNoCounters = errors.New(
	"this program counts no statements: lockstep run TARGET --coverprofile builds one that does")

var errFormat = errors.New(
	"the counters of this program are in a format that Lockstep does not know, of another Go release")

// The format of the description is that of package internal/coverage of Go, version 1.
const (
	metaHeader    = 56
	packageHeader = 16 + 16 + 4 + 8
	formatVersion = 1
)

// ProgramBlocks lists the blocks of this program.
func ProgramBlocks() (*Blocks, error) {
	var b bytes.Buffer
	if err := coverage.WriteMeta(&b); err != nil {
		return nil, ErrNoCounters
	}
	return parseBlocks(b.Bytes())
}

// parseBlocks reads the description of a program's blocks.
func parseBlocks(text []byte) (blocks *Blocks, err error) {
	defer func() {
		if recover() != nil { // an index beyond the text
			err = errFormat
		}
	}()
	if string(text[:4]) != "\x00cvm" || binary.LittleEndian.Uint32(text[4:]) != formatVersion {
		return nil, errFormat
	}
	blocks = &Blocks{hash: [16]byte(text[24:40])}
	n := int(binary.LittleEndian.Uint64(text[16:]))
	for i := range n {
		offset := binary.LittleEndian.Uint64(text[metaHeader+8*i:])
		length := binary.LittleEndian.Uint64(text[metaHeader+8*n+8*i:])
		blocks.addPackage(text[offset : offset+length])
	}
	return blocks, nil
}

// addPackage reads the description of a package.
func (b *Blocks) addPackage(text []byte) {
	functions := int(binary.LittleEndian.Uint32(text[packageHeader-4:]))
	r := reader{text: text, at: packageHeader + 4*functions}
	strings := make([]string, min(r.number(), len(text)))
	for i := range strings {
		length := r.number()
		strings[i] = string(text[r.at : r.at+length])
		r.at += length
	}
	if strings[binary.LittleEndian.Uint32(text[4:])] == "main" {
		b.first = append(b.first, nil)
		return
	}
	path := strings[binary.LittleEndian.Uint32(text[8:])]
	at, known := slices.BinarySearch(b.Packages, path)
	if !known {
		b.Packages = slices.Insert(b.Packages, at, path)
		for i, of := range b.of {
			if of >= at {
				b.of[i]++
			}
		}
	}
	first := make([]int, functions)
	for i := range first {
		first[i] = len(b.List)
		r.at = int(binary.LittleEndian.Uint32(text[packageHeader+4*i:]))
		units := r.number()
		_ = r.number() // the name of the function
		file := strings[r.number()]
		for range units {
			b.List = append(b.List, Block{file, r.number(), r.number(), r.number(), r.number(), r.number()})
			b.of = append(b.of, at)
		}
	}
	b.first = append(b.first, first)
}

// reader reads numbers of variable length.
type reader struct {
	text []byte
	at   int
}

func (r *reader) number() int {
	v, size := binary.Uvarint(r.text[r.at:])
	if size <= 0 {
		panic(errFormat)
	}
	r.at += size
	return int(v)
}

// counters reads the program's counters.
type counters struct {
	blocks *Blocks
	text   bytes.Buffer
}

// The format of the counters, version 1: header, one segment, footer.
const (
	countersHeader = 32
	segmentHeader  = 16
	countersFooter = 16
	// packedNumbers is the flavor in which numbers have variable length.
	packedNumbers = 2
)

// hit is a block that was executed, and how often.
type hit struct{ block, times int }

// read appends the blocks that were executed since the last call of clear.
func (c *counters) read(list []hit) (_ []hit, err error) {
	c.text.Reset()
	if err := coverage.WriteCounters(&c.text); err != nil {
		return list, fmt.Errorf("the counters of the statements: %w", err)
	}
	return c.blocks.parseCounters(c.text.Bytes(), list)
}

// clear resets all counters.
func (*counters) clear() error { return coverage.ClearCounters() }

// parseCounters appends the blocks whose counters are not zero.
func (b *Blocks) parseCounters(text []byte, list []hit) (_ []hit, err error) {
	defer func() {
		if recover() != nil { // an index beyond the text or the blocks
			err = errFormat
		}
	}()
	if string(text[:4]) != "\x00cwm" || binary.LittleEndian.Uint32(text[4:]) != formatVersion ||
		text[24] != packedNumbers || [16]byte(text[8:24]) != b.hash {
		return list, errFormat
	}
	segment := text[countersHeader:]
	functions := binary.LittleEndian.Uint64(segment)
	names, args := binary.LittleEndian.Uint32(segment[8:]), binary.LittleEndian.Uint32(segment[12:])
	r := reader{text: text[:len(text)-countersFooter], at: countersHeader + segmentHeader + int(names) + int(args)}
	for range functions {
		units, pkg, function := r.number(), r.number(), r.number()
		first := 0
		if b.first[pkg] != nil {
			first = b.first[pkg][function]
		}
		for i := range units {
			if times := r.number(); times != 0 && b.first[pkg] != nil {
				list = append(list, hit{first + i, times})
			}
		}
	}
	return list, nil
}
