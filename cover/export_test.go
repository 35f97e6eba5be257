package cover

// ForceExact makes a sampler draw with big integers even where uint64 would do, so
// that tests can reach that path at sizes that they can enumerate.
func (s *Sampler) ForceExact() {
	for _, row := range s.small {
		clear(row)
	}
}
