package spill

// Tape is a sequence of records, each of the same number of words. A record is never split over two pages.
type Tape struct {
	store *Store
	width int
	full  int // words in a full page
	pages []page
	count int64 // records
}

// page is a part of a tape: in memory, or, when words is nil, in the file.
type page struct {
	words []uint32
	at    int64
	size  int // as text
}

// Tape makes an empty tape for records of the given number of words, at most a page.
func (s *Store) Tape(width int) *Tape {
	return &Tape{store: s, width: width, full: s.page / width * width}
}

// Len is the number of records.
func (t *Tape) Len() int64 { return t.count }

// Pages is the number of pages.
func (t *Tape) Pages() int { return len(t.pages) }

// PageLen is the number of records in every page but the last.
func (t *Tape) PageLen() int { return t.full / t.width }

// Append adds records at the end. The error is ErrMemory, ErrDisk, or that of the file; the tape can then only be
// freed.
func (t *Tape) Append(records []uint32) error {
	t.count += int64(len(records) / t.width)
	for len(records) > 0 {
		if len(t.pages) == 0 || t.pages[len(t.pages)-1].size == t.full {
			t.pages = append(t.pages, page{words: t.store.empty()})
		}
		last := &t.pages[len(t.pages)-1]
		n := min(len(records), t.full-last.size)
		last.words = append(last.words, records[:n]...)
		last.size += n
		records = records[n:]
		if last.size < t.full {
			break
		}
		crowded, err := t.store.crowded()
		if err != nil {
			return err
		}
		if crowded {
			if err := t.evict(last); err != nil {
				return err
			}
		}
	}
	return nil
}

// Turn takes a page that has no space for another record, and returns an empty one: a caller that writes record by
// record writes to pages, beginning with nil, and hands them over. The error is as for Append.
func (t *Tape) Turn(full []uint32) (empty []uint32, err error) {
	if err := t.put(full); err != nil {
		return nil, err
	}
	return t.store.empty(), nil
}

// End takes the last page.
func (t *Tape) End(last []uint32) error {
	if len(last) == 0 && last != nil {
		t.store.give(last)
	}
	return t.put(last)
}

// put adds a page. All but the last are full.
func (t *Tape) put(words []uint32) error {
	if len(words) == 0 {
		return nil
	}
	t.count += int64(len(words) / t.width)
	t.pages = append(t.pages, page{words: words, size: len(words)})
	crowded, err := t.store.crowded()
	if crowded && len(words) == t.full {
		err = t.evict(&t.pages[len(t.pages)-1])
	}
	return err
}

// Seal ends the writing and gives the space at the end of the last page back.
func (t *Tape) Seal() {
	if len(t.pages) == 0 {
		return
	}
	if last := &t.pages[len(t.pages)-1]; last.words != nil && last.size < t.store.page/2 {
		last.words = t.store.trim(last.words)
	}
}

// Evict moves the tape to the disk, if the store has one: it will not be read soon.
func (t *Tape) Evict() error {
	if t.store.disk == 0 {
		return nil
	}
	for i := range t.pages {
		if err := t.evict(&t.pages[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tape) evict(p *page) error {
	if p.words == nil || p.size == 0 {
		return nil
	}
	at, err := t.store.write(p.words)
	if err != nil {
		return err
	}
	t.store.give(p.words)
	p.words, p.at = nil, at
	return nil
}

// Page returns the records of a page: those in memory, or a copy in buf, which is made larger when needed and returned
// for the next call.
func (t *Tape) Page(i int, buf []uint32) (records, again []uint32, err error) {
	p := &t.pages[i]
	if p.words != nil || p.size == 0 {
		return p.words, buf, nil
	}
	if cap(buf) < p.size {
		buf = make([]uint32, t.store.page)
	}
	err = t.store.read(p.at, buf[:p.size])
	return buf[:p.size], buf, err
}

// Drop frees a page that will not be read again.
func (t *Tape) Drop(i int) {
	p := &t.pages[i]
	switch {
	case p.words != nil:
		t.store.give(p.words)
	case p.size > 0:
		t.store.free(p.at)
	}
	*p = page{}
}

// Free drops all pages.
func (t *Tape) Free() {
	for i := range t.pages {
		t.Drop(i)
	}
	t.pages = nil
}

// Cursor reads a tape word by word from any place. The tape must hold records of one word.
type Cursor struct {
	tape  *Tape
	at    int64
	page  int
	words []uint32
	buf   []uint32
}

// Cursor begins at the given record.
func (t *Tape) Cursor(at int64) *Cursor { return &Cursor{tape: t, at: at, page: -1} }

// Next reads a word.
func (c *Cursor) Next() (word uint32, err error) {
	if p := int(c.at / int64(c.tape.full)); p != c.page {
		if c.words, c.buf, err = c.tape.Page(p, c.buf); err != nil {
			return 0, err
		}
		c.page = p
	}
	word = c.words[c.at%int64(c.tape.full)]
	c.at++
	return word, nil
}
