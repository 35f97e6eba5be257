package disk

// Used is the number of bytes that the blocks of files occupy: files that have a name, and the given ones, which are
// still open. It needs Counts.
func (d *Disk) Used(open ...*Inode) int64 {
	seen := map[*Inode]bool{}
	var used int64
	add := func(i *Inode) {
		if !seen[i] {
			seen[i] = true
			used += int64(len(i.blocks)) * Block
		}
	}
	for _, i := range open {
		add(i)
	}
	d.each(func(_ string, i *Inode) { add(i) })
	return used
}

// Needs is the number of bytes of the blocks that a write of n bytes at an offset would occupy in addition.
func (i *Inode) Needs(at, n int64) int64 {
	var more int64
	for b := at / Block; b*Block < at+n; b++ {
		if !i.blocks[b] {
			more += Block
		}
	}
	return more
}

// Reserve occupies the blocks of a range without writing to them, as fallocate does.
func (d *Disk) Reserve(i *Inode, at, n int64) {
	if !d.Counts {
		return
	}
	if i.blocks == nil {
		i.blocks = map[int64]bool{}
	}
	for b := at / Block; b*Block < at+n; b++ {
		i.blocks[b] = true
	}
}

// occupy occupies the blocks of a write. A whole block that is written can be read again: the drive uses another place
// for it.
func (i *Inode) occupy(d *Disk, at, n int64) {
	d.Reserve(i, at, n)
	for b := range i.bad { //lockstep:unordered each alone
		if b*Block >= at && (b+1)*Block <= at+n {
			delete(i.bad, b)
		}
	}
}

// release frees the blocks above a size.
func (i *Inode) release(size int64) {
	for _, set := range []map[int64]bool{i.blocks, i.bad} {
		for b := range set { //lockstep:unordered each alone
			if b*Block >= roundUp(size) {
				delete(set, b)
			}
		}
	}
}

// each calls f for all files, in the order of their paths, once for each name.
func (d *Disk) each(f func(path string, i *Inode)) {
	var visit func(path string, dir *Inode)
	visit = func(path string, dir *Inode) {
		for _, name := range dir.Names() {
			switch i := dir.now[name]; i.Kind {
			case Directory:
				visit(path+name+"/", i)
			case File:
				f(path+name, i)
			}
		}
	}
	visit("", d.root)
}
