package disk

// Moment is the number of the last change. A sync covers changes up to the moment in which it began.
func (d *Disk) Moment() uint64 { return d.moment }

// Sync performs a sync of a file or directory that began at a moment.
func (d *Disk) Sync(i *Inode, began uint64) {
	if d.Level == Ext4 {
		d.commit(began)
	} else if i.Kind == Directory {
		d.publish(began, func(c *change) bool { return c.in(i) })
	}
	if i.Kind == File {
		i.keep(began)
	}
}

// SyncData performs a sync of a file's data. On ext4 it commits the journal only up to the last change of the file's
// length or name.
func (d *Disk) SyncData(i *Inode, began uint64) {
	if d.Level == Ext4 && i.Kind == File {
		d.commit(d.journalled(i, began))
		i.keep(began)
		return
	}
	d.Sync(i, began)
}

// journalled is the moment of the last change of a file's length or name, not later than until, or 0.
func (d *Disk) journalled(i *Inode, until uint64) uint64 {
	var last uint64
	for _, l := range i.lengths[1:] {
		if l.moment <= until {
			last = l.moment
		}
	}
	for _, c := range d.changes {
		for _, e := range c.sets {
			if e.to == i && c.moment <= until {
				last = max(last, c.moment)
			}
		}
	}
	return last
}

// SyncFailed records that a sync of a file failed that began at a moment. Its data may have reached the disk or not,
// and no later sync will write it.
func (d *Disk) SyncFailed(i *Inode, began uint64) {
	for _, s := range i.sectors { //lockstep:unordered each alone
		if last := s.versions[len(s.versions)-1]; len(s.versions) > 1 && last.moment <= began {
			s.fails = append(s.fails, failure{d.moment, last.moment})
		}
	}
}

// SyncAll makes everything durable that changed before a moment.
func (d *Disk) SyncAll(began uint64) {
	d.commit(began)
	for _, i := range d.dirty {
		i.keep(began)
	}
	d.tidy()
}

// WriteBack makes everything durable that changed before a time, as the kernel writes back old data.
func (d *Disk) WriteBack(before int64) {
	var last uint64
	note := func(moment uint64, time int64) {
		if time < before {
			last = max(last, moment)
		}
	}
	for _, c := range d.changes {
		note(c.moment, c.time)
	}
	for _, i := range d.dirty {
		for _, l := range i.lengths {
			note(l.moment, l.time)
		}
		for _, s := range i.sectors { //lockstep:unordered a maximum
			for _, v := range s.versions {
				note(v.moment, v.time)
			}
		}
	}
	d.SyncAll(last)
}

// commit writes the journal up to a moment.
func (d *Disk) commit(until uint64) {
	d.committed = max(d.committed, until)
	d.publish(until, func(*change) bool { return true })
}

// publish makes the wanted changes of names up to a moment durable. With each it publishes the earlier changes of the
// same name.
func (d *Disk) publish(until uint64, wanted func(*change) bool) {
	n := len(d.changes)
	due := make([]bool, n)
	for k := n - 1; k >= 0; k-- {
		c := &d.changes[k]
		due[k] = c.moment <= until && wanted(c)
		for later := k + 1; later < n && !due[k]; later++ {
			due[k] = due[later] && d.changes[later].touches(c)
		}
	}
	var rest []change
	for k := range d.changes {
		if due[k] {
			d.changes[k].apply()
		} else {
			rest = append(rest, d.changes[k])
		}
	}
	d.changes = rest
}

// in reports whether a change concerns a directory.
func (c *change) in(dir *Inode) bool {
	for _, e := range c.sets {
		if e.dir == dir {
			return true
		}
	}
	return false
}

// keep makes the versions of a file up to a moment durable.
func (i *Inode) keep(until uint64) {
	i.lengths = i.lengths[lastBefore(i.lengths, until, func(l length) uint64 { return l.moment }):]
	for _, s := range i.sectors { //lockstep:unordered each alone
		k := lastBefore(s.versions, until, momentOf)
		if s.versions[k].moment > s.clean() {
			if k > 0 {
				s.before, s.written = s.versions[0].data, until
			}
			s.versions, s.fails = s.versions[k:], nil
		}
	}
}

func momentOf(v version) uint64 { return v.moment }

// lastBefore is the index of the last version not later than a moment, at least 0.
func lastBefore[V any](versions []V, until uint64, moment func(V) uint64) int {
	k := len(versions) - 1
	for k > 0 && moment(versions[k]) > until {
		k--
	}
	return k
}

// tidy removes files from the dirty list that are clean.
func (d *Disk) tidy() {
	var rest []*Inode
	for _, i := range d.dirty {
		i.dirty = len(i.lengths) > 1
		for _, s := range i.sectors { //lockstep:unordered whether there is one
			i.dirty = i.dirty || len(s.versions) > 1
		}
		if i.dirty {
			rest = append(rest, i)
		}
	}
	d.dirty = rest
}
