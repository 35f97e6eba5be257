package bubble

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble/wire"
	"github.com/lockstep-go/lockstep/trace"
)

// deployment is a cluster under the engine. All of its goroutines belong to the bubble of the run, and the bubble's
// main goroutine calls its methods.
type deployment struct {
	Cluster
	messages     Messages
	sockets      *Sockets // nil: the cluster sends messages with Node.Send
	model        *Files   // the fault model of files; nil: none
	env          *lockstep.Env
	world        *World
	incarnations []*Node // the running incarnation of each node; nil while it is down
	counts       []int   // of incarnations
	disks        []map[string]kept
	bodies       []any                   // by number of the body - 1
	asked        map[int32]trace.Pending // the requests offered, unless they were withdrawn
	timer        *time.Timer             // ends a wait
	decoders     map[string]wire.Decoder // of connections
	split        map[string]string       // types of the data that travels on them in two parts
	files        bool                    // some node has a directory
	lost         []arrival               // on cut links, in this step
	frozen       int                     // number of frozen incarnations of this run
	release      func()                  // undoes the changes to the settings of the process
	runs         int
	moved        lockstep.Nodes // in this step
	machine      []*machine     // of the nodes, with a fault model of files
	lot          *lot           // of the run
	chance       *Source        // for choose
	warming      bool           // the run only warms the process up
	preempter    *preempter     // of the run; nil: no goroutine is preempted

	busy   atomic.Bool  // the bubble should become quiescent
	quiets atomic.Int64 // how often it did
	gone   atomic.Bool  // the run was given up
	number string       // of the bubble, in stack dumps
}

// Reset starts every node from scratch.
func (d *deployment) Reset(_ context.Context, seed uint64, out *lockstep.Outbox) error {
	d.busy.Store(true)
	defer d.busy.Store(false)
	if err := d.begin(seed, out); err != nil {
		return err
	}
	d.moved = d.all()
	d.settle(out)
	d.breakLost()
	d.preempter.disarm()
	return nil
}

// begin makes the world of a run and starts its nodes. Without an engine there is no outbox.
func (d *deployment) begin(seed uint64, out *lockstep.Outbox) error {
	if d.files {
		if err := d.wipe(); err != nil {
			return err
		}
	}
	d.lot.begin(seed, out)
	d.world, d.bodies, d.counts, d.asked =
		newWorld(d.lot), d.bodies[:0], make([]int, d.Nodes), map[int32]trace.Pending{}
	d.decoders, d.split = map[string]wire.Decoder{}, map[string]string{}
	d.chance = d.world.Source(stepStream)
	d.world.logs = out != nil && out.Texts()
	d.world.allowDiskExit = d.AllowDiskExit
	// before all draws and everything random
	rules(d.world)
	d.preempter = d.preempts()
	d.timer = time.AfterFunc(time.Hour, d.world.happened)
	d.timer.Stop()
	d.world.incarnation = func(n lockstep.Node) *Node { return d.incarnations[n-1] }
	d.frozen = 0
	d.lay()
	if d.sockets != nil {
		d.world.socket = true
		carry(d.world, d.Nodes, d.sockets.Split)
	}
	if err := d.machines(); err != nil {
		return err
	}
	if d.Process.Seed != nil {
		d.Process.Seed(seed)
	}
	if d.Begin != nil {
		d.Begin(d.world)
	}
	if err := d.wrongClocks(); err != nil {
		return err
	}
	d.preempter.arm()
	for i, text := range d.Requests {
		d.world.Offer(trace.Pending{ID: int32(i + 1), To: d.all(), Text: text})
	}
	for i := range d.incarnations {
		d.disks[i] = map[string]kept{}
		d.start(lockstep.Node(i + 1))
		if !Overlay { // without the overlay, the Go scheduler would otherwise decide which node emits first
			d.quiesce()
		}
	}
	return nil
}

// start begins an incarnation of a node.
func (d *deployment) start(self lockstep.Node) {
	i := self - 1
	d.counts[i]++
	n := &Node{
		self:        self,
		nodes:       d.Nodes,
		incarnation: d.counts[i],
		setting:     d.reconfigure(self),
		world:       d.world,
		disks:       d.disks[i],
		model:       d.Disk,
		wake:        make(chan struct{}, 1),
		chance:      d.lot.chance(self, uint64(self)+uint64(d.counts[i])<<8),
	}
	n.dir = func() (string, error) {
		d.world.mutex.Lock()
		defer d.world.mutex.Unlock()
		d.files = true
		return dirOf(d.env, self)
	}
	if c := d.world.clocks[self]; c != (ClockError{}) {
		setClock(n.number(), c)
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	d.incarnations[i] = n
	d.maybeKill(self)
	n.run(d.Start)
}

// mostIncarnations is the limit of a node's incarnations in a run with frozen goroutines. The runtime has a slot for
// each of 16384 (see Node.number), and one more incarnation would thaw the first.
const mostIncarnations = 255

// crash ends an incarnation.
func (d *deployment) crash(self lockstep.Node) error {
	n := d.incarnations[self-1]
	d.incarnations[self-1] = nil
	if d.Freeze == nil {
		n.thaw() // otherwise it could not end
	}
	n.dead.Store(true)
	d.world.crash(n)
	d.offerUntaken(n)
	n.crash(d.choose)
	powerFails := d.model != nil && d.chance.strikes(d.model.PowerFailures)
	if d.sockets != nil && d.Freeze != nil && d.Freeze.Grace > 0 {
		silence(n.number())
	}
	if d.sockets != nil {
		unplug(n.number(), powerFails)
	}
	if d.Freeze != nil {
		return d.freeze(n, powerFails)
	}
	n.end()
	return nil
}

// offerUntaken offers the requests again that an incarnation received and its program never took, because it was still
// starting, busy or paused. The program did nothing for them, so the client may ask again as if for the first time.
// Otherwise the client would wait for an answer indefinitely.
func (d *deployment) offerUntaken(n *Node) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, a := range n.queue {
		if p, ok := d.asked[a.id]; ok && a.id != 0 {
			d.world.Offer(p)
		}
	}
}

// freeze stops the goroutines of an incarnation for good, after the grace time.
func (d *deployment) freeze(n *Node, powerFails bool) error {
	if d.model != nil {
		if err := d.crashFiles(n, powerFails); err != nil {
			return err
		}
	}
	if d.Freeze.Grace > 0 {
		thaw(n.number()) // it may have been paused
		d.sleep(d.Freeze.Grace)
	}
	freeze(n.number())
	d.frozen++
	if d.model != nil {
		closeFiles(n.number())
	}
	return nil
}

// Do performs one step.
func (d *deployment) Do(_ context.Context, s *lockstep.Step, out *lockstep.Outbox) error {
	d.busy.Store(true)
	defer d.busy.Store(false)
	d.lot.share()
	defer d.lot.share()
	if out.Settling() {
		d.world.mutex.Lock()
		d.world.prompt = true
		d.world.mutex.Unlock()
	}
	if s.Kind != trace.Wait {
		if ahead := time.Duration(out.Now()) - d.world.Now(); ahead > 0 { // the step moved the clock
			d.sleep(ahead)
		}
	}
	d.preempter.arm()
	defer d.preempter.disarm()
	switch s.Kind {
	case trace.Deliver:
		m := out.Message(s.Msg)
		if c, ok := d.bodies[m.Body-1].(*chunk); ok {
			c.deliver()
		} else {
			d.incarnations[m.To-1].give(arrival{from: m.From, body: d.bodies[m.Body-1]})
		}
	case trace.Drop:
		m := out.Message(s.Msg)
		d.lose(arrival{from: m.From, body: d.bodies[m.Body-1], lost: m.To})
	case trace.Replace:
		if err := d.replace(s, out); err != nil {
			return err
		}
	case trace.Request:
		d.incarnations[s.Node-1].give(arrival{id: s.Request, body: d.asked[s.Request].Text})
	case trace.Crash:
		if err := d.crash(s.Node); err != nil {
			return err
		}
	case trace.Restart:
		if d.frozen > 0 && d.counts[s.Node-1] == mostIncarnations {
			return &lockstep.Inconclusive{
				Reason: fmt.Sprintf(
					"node %d has had %d incarnations, the most that a run with frozen goroutines can have: use fewer crashes",
					s.Node,
					mostIncarnations,
				),
			}
		}
		d.start(s.Node)
	case trace.Pause:
		if err := d.pause(s.Node); err != nil {
			return err
		}
	case trace.Jump:
		if err := d.jump(s.Node); err != nil {
			return err
		}
	case trace.Wait:
		d.wait(time.Duration(s.For))
	}
	d.moved = d.touches(s, out)
	d.settle(out)
	d.breakLost()
	if s.Kind == trace.Wait {
		out.WaitEnded(trace.Time(d.world.Now()))
	}
	return nil
}

// lose reports to the sender of a message that it was lost, if the sender asked for that.
func (d *deployment) lose(a arrival) {
	if c, ok := a.body.(*chunk); ok {
		c.lose()
	} else if n := d.incarnations[a.from-1]; n != nil && n.lost != nil {
		n.give(a)
	}
}

// replace gives a message its forged body.
func (d *deployment) replace(s *lockstep.Step, out *lockstep.Outbox) error {
	text, _ := out.Forged(s)
	kind, tag, forged, err := d.messages.Parse(text)
	if err != nil {
		return fmt.Errorf("forged message %q: %w", text, err)
	}
	out.Retype(s.Msg, kind, tag)
	d.bodies = append(d.bodies, forged)
	if m := out.Message(s.Msg); d.messages.Announce != nil {
		d.messages.Announce(d.world, m.From, m.To, forged)
	}
	return nil
}

// touches is the set of nodes that a step affects, as far as the step shows it.
func (d *deployment) touches(s *lockstep.Step, out *lockstep.Outbox) lockstep.Nodes {
	switch s.Kind {
	case trace.Deliver:
		return trace.NodesOf(out.Message(s.Msg).To)
	case trace.Crash, trace.Restart, trace.Request, trace.Pause, trace.Jump:
		return trace.NodesOf(s.Node)
	case trace.Wait:
		return d.all()
	}
	return 0
}

// wait lets time pass until something happens. Earlier events do not end it, because the engine knows them already. The
// timer that ends the wait usually wakes no goroutine, because something else happens first. So one channel to wait for
// is cheaper than two.
func (d *deployment) wait(most time.Duration) {
	w := d.world
	w.waits.Store(true)
	d.timer.Reset(most)
	<-w.kick
	d.timer.Stop()
	w.waits.Store(false)
	select {
	case <-w.kick: // two things happened at once
	default:
	}
}

// sleep lets time pass whatever happens.
func (d *deployment) sleep(long time.Duration) {
	d.quiesce()
	time.Sleep(long)
}

// quiesce waits until every goroutine of the bubble is blocked. Then it calls the functions given to OnQuiescent, and
// repeats both until no function causes activity.
func (d *deployment) quiesce() {
	for more := true; more; more = d.world.observe() {
		synctest.Wait()
		d.quiets.Add(1)
		if d.gone.Load() { // the run was given up: it must not continue
			select {}
		}
	}
}

// settle waits until the bubble is quiescent and reports what happened.
func (d *deployment) settle(out *lockstep.Outbox) {
	d.quiesce()
	d.takeExits(out)
	w := d.world
	w.mutex.Lock()
	defer w.mutex.Unlock()
	d.arrange()
	for i := range w.sent {
		m := &w.sent[i]
		d.moved = d.moved.With(m.from)
		kind, text := m.kind, ""
		c, isChunk := m.body.(*chunk)
		if isChunk {
			kind, text = d.decode(kind, c)
		}
		body := out.Send(m.from, m.to, kind, m.tag)
		d.bodies = append(d.bodies, m.body)
		if out.Cut(m.from).Has(m.to) {
			d.lost = append(d.lost, arrival{from: m.from, body: m.body, lost: m.to})
		}
		if text != "" && out.Texts() {
			out.Text(body, text)
		}
	}
	for i := range w.events {
		if e := &w.events[i]; int(e.Node) <= d.Nodes {
			d.moved |= trace.NodesOf(e.Node) & d.all()
			out.Event(*e)
		}
	}
	slices.SortStableFunc(w.offers, func(a, b trace.Pending) int { return cmp.Compare(a.ID, b.ID) })
	for _, p := range w.offers {
		d.asked[p.ID] = p
		out.Offer(p)
	}
	for _, id := range w.withdrawn {
		delete(d.asked, id)
		out.Withdraw(id)
	}
	clear(w.sent)
	clear(w.events)
	w.sent, w.events, w.offers, w.withdrawn = w.sent[:0], w.events[:0], w.offers[:0], w.withdrawn[:0]
	out.Advance(trace.Time(w.Now()))
	d.deliverLogs(out)
	if out.Texts() {
		d.states(out)
	}
	w.raise()
}

// arrange sorts the messages sent, and announces them to the cluster.
func (d *deployment) arrange() {
	w := d.world
	inOrder(w.sent, d.messages.Rank)
	for i := range w.sent {
		if m := &w.sent[i]; d.messages.Announce != nil {
			d.messages.Announce(w, m.from, m.to, m.body)
		}
	}
}

// breakLost reports the loss of messages that were sent on a cut link to their senders. The next step reports the
// effects.
func (d *deployment) breakLost() {
	for _, a := range d.lost {
		d.lose(a)
	}
	if len(d.lost) > 0 {
		clear(d.lost)
		d.lost = d.lost[:0]
		d.quiesce()
	}
}

// decode gives a chunk its type and text.
func (d *deployment) decode(kind string, c *chunk) (string, string) {
	if kind != "data" && kind != "datagram" {
		return kind, ""
	}
	name, data, part := c.bytes()
	if part == 2 { // the first part determined the type
		return d.split[name] + " (2/2)", ""
	}
	decoder, known := d.decoders[name]
	if !known {
		decoder = d.sockets.Decode(connOf(name, kind == "datagram"))
		d.decoders[name] = decoder
	}
	text := ""
	if decoder != nil {
		if is, content := decoder.Decode(c.byDialer(), data); is != "" {
			kind, text = is, content
		}
	}
	if part == 1 {
		d.split[name] = kind
		kind += " (1/2)"
	}
	return kind, text
}

// connOf reads the name of a connection, "1>2:80#1", or the two ends of datagrams, "1:9>2:80".
func connOf(name string, datagrams bool) wire.Conn {
	_, port, _ := strings.Cut(name[strings.IndexByte(name, '>')+1:], ":")
	port, _, _ = strings.Cut(port, "#")
	number, _ := strconv.Atoi(port) // 0: it has none
	return wire.Conn{Name: name, Port: number, Datagrams: datagrams}
}

// states reports the states of the nodes that may have changed. It needs no lock because the bubble is quiescent.
func (d *deployment) states(out *lockstep.Outbox) {
	w := d.world
	w.mutex.Unlock()
	defer w.mutex.Lock()
	for self := range d.moved.All() {
		d.role(self, out)
		if n := d.incarnations[self-1]; n == nil {
			out.State(self, "down")
		} else if n.state != nil {
			out.State(self, d.stateText(n))
		}
	}
}

// stateText is the state of a node as text. A state function must not wait: that lets time pass, and a recorded run
// would differ from one that is not.
func (d *deployment) stateText(n *Node) string {
	before := d.world.Now()
	text := n.state()
	if took := d.world.Now() - before; took > 0 {
		panic(
			fmt.Sprintf(
				"bubble: the function given to Node.SetState of node %d waited for %v, for a lock perhaps that a sleeping "+
					"goroutine holds: it must not wait",
				n.self,
				took,
			),
		)
	}
	return text
}

// text returns a message as text. The body is as it was sent, see Node.Send.
func (d *deployment) text(number trace.ID) string {
	if int(number) > len(d.bodies) { // it is to be forged: the step was not performed, or was refused
		return ""
	}
	body := d.bodies[number-1]
	if d.messages.Text != nil {
		return d.messages.Text(body)
	}
	return fmt.Sprintf("%v", body)
}

// Capabilities are the capabilities of the programs and of the bubble.
func (d *deployment) Capabilities() lockstep.Capabilities {
	a := lockstep.Capabilities{
		Enclose:        d.enclose,
		Body:           func(body trace.ID) any { return d.bodies[body-1] },
		Text:           d.text,
		Lasting:        true,
		Nondeterminism: sources,
	}
	if len(d.Roles) > 0 {
		a.Role = func(n lockstep.Node) string {
			if node := d.incarnations[n-1]; node != nil && node.role != nil {
				return node.role()
			}
			return ""
		}
	}
	return a
}

// wipe empties the directories of the nodes.
func (d *deployment) wipe() error {
	root, err := d.env.Dir()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "node") {
			if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close restores the number of processors. Everything else ended with its run.
func (d *deployment) Close() error {
	d.release()
	d.release = func() {}
	return nil
}
