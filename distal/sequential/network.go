package sequential

import (
	"math/bits"

	"github.com/lockstep-go/lockstep/distal/check"
)

// Modes is the number of joint choices the network makes in a round before it looks at single nodes: under a kernel
// assumption one for each node that can be the kernel, otherwise one.
func (m *Model) Modes() int {
	if m.Network == check.Kernel {
		return m.Program.N
	}
	return 1
}

// Allowed says whether, in a mode, a node may receive exactly the messages of the nodes in `got` when those in `sent`
// sent to it (Fig. 11 of the paper). got is a subset of sent.
//
//   - any: always.
//   - reliable: everything sent is received.
//   - atleast(k): the messages of some k nodes are all received, so that at most n-k are lost.
//   - kernel: the message of the kernel, if it sent one, is received.
func (m *Model) Allowed(mode int, sent, got uint64) bool {
	switch m.Network {
	case check.Reliable:
		return got == sent
	case check.AtLeast:
		return bits.OnesCount64(sent&^got) <= m.Program.N-m.AtLeast
	case check.Kernel:
		kernel := uint64(1) << mode
		return sent&kernel&^got == 0
	}
	return true
}
