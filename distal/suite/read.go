package suite

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lockstep-go/lockstep/distal"
	"github.com/lockstep-go/lockstep/distal/machine"
	"github.com/lockstep-go/lockstep/distal/sequential"
)

// Test is a test that has been read and checked.
type Test struct {
	Name   string
	Rounds []Round
}

// Round is what happens in a round.
type Round struct {
	Tag    machine.Tag
	Name   string
	Starts []Start          // as it begins, in order
	Hear   []uint64         // by receiver, from 0: the senders that it hears
	Sent   []uint64         // by sender, from 0: the receivers of what the model sends in this round
	States []*machine.State // by node, from 0: at the end of the round
}

// Start is a timeout that fires at a node as a round begins, or a client's request that the node receives.
type Start struct {
	Node    int
	Request bool
}

// Tests are the tests of a directory, with their model.
type Tests struct {
	Model *sequential.Model
	List  []Test
}

// Read reads the model and the tests of a directory.
func Read(dir string) (*Tests, error) {
	text, err := os.ReadFile(filepath.Join(dir, ModelFile))
	if err != nil {
		return nil, fmt.Errorf("a suite has its model in the file %s: %w", ModelFile, err)
	}
	files, err := filepath.Glob(filepath.Join(escaped(dir), "*"+extension))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no tests (*%s); lockstep distal generate makes some", dir, extension)
	}
	slices.Sort(files)
	out := &Tests{}
	for i, file := range files {
		r := &reader{file: file, model: string(text)}
		test, err := r.read()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			out.Model = r.m
		} else if out.Model.Program.N != r.m.Program.N {
			return nil, fmt.Errorf("%s: the test has %d nodes, and the first one %d; allowed is one number", file,
				r.m.Program.N, out.Model.Program.N)
		}
		out.List = append(out.List, test)
	}
	return out, nil
}

// escaped is a directory as a pattern.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// reader reads a test.
type reader struct {
	file  string
	model string // its text
	m     *sequential.Model
	lines []line
	nodes [][]*machine.State // by node: the states in which it may be
}

// line is a line with something on it.
type line struct {
	number           int
	word, node, rest string
}

// errorf is an error at a line.
func (r *reader) errorf(l line, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", r.file, l.number, fmt.Sprintf(format, args...))
}

// maxFile bounds the size of a file.
const maxFile = 1 << 22

func (r *reader) read() (Test, error) {
	name := strings.TrimSuffix(filepath.Base(r.file), extension)
	text, err := os.ReadFile(r.file)
	if err != nil {
		return Test{}, err
	}
	if len(text) > maxFile {
		return Test{}, fmt.Errorf("%s: the file has %d bytes; allowed are %d", r.file, len(text), maxFile)
	}
	r.split(string(text))
	if err := r.header(); err != nil {
		return Test{}, err
	}
	out := Test{Name: name}
	for i := range r.m.Program.N {
		var starts []*machine.State
		for _, st := range r.m.Initial(i + 1) {
			starts = append(starts, st.State)
		}
		r.nodes = append(r.nodes, starts)
	}
	for len(r.lines) > 0 {
		round, err := r.round(len(out.Rounds))
		if err != nil {
			return Test{}, err
		}
		out.Rounds = append(out.Rounds, round)
	}
	if len(out.Rounds) == 0 {
		return Test{}, fmt.Errorf("%s: the test has no rounds; allowed is at least one: round 1 %s", r.file,
			r.m.Program.Round(r.m.Tag(0)))
	}
	return out, nil
}

// split finds the lines with something on them.
func (r *reader) split(text string) {
	for i, s := range strings.Split(text, "\n") {
		s = strings.TrimSpace(s)
		if s == "" || s[0] == '#' {
			continue
		}
		l := line{number: i + 1}
		l.word, l.rest, _ = strings.Cut(s, " ")
		if l.word == "timeout" || l.word == "request" || l.word == "hear" || l.word == "state" {
			l.node, l.rest, _ = strings.Cut(l.rest, ":")
		}
		l.rest = strings.TrimSpace(l.rest)
		r.lines = append(r.lines, l)
	}
}

// next takes the next line if it begins with a word.
func (r *reader) next(word string) (l line, ok bool) {
	if len(r.lines) == 0 || r.lines[0].word != word {
		return l, false
	}
	l, r.lines = r.lines[0], r.lines[1:]
	return l, true
}

// header reads what comes before the rounds, and makes the model.
func (r *reader) header() error {
	first, _ := r.next("suite")
	if first.rest != strconv.Itoa(Version) {
		return r.errorf(line{number: cmp.Or(first.number, 1)}, "a test begins with the line \"suite %d\"", Version)
	}
	protocol, ok := r.next("protocol")
	if !ok {
		return r.errorf(line{number: first.number + 1}, "the second line names the protocol: protocol NAME")
	}
	options := distal.Options{Network: "any", Timeouts: "free", Params: map[string]int64{}}
	for {
		l, ok := r.next("param")
		if !ok {
			break
		}
		name, value, _ := strings.Cut(l.rest, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return r.errorf(l, "%q is not param NAME=NUMBER", l.rest)
		}
		options.Params[name] = n
	}
	m, _, remarks := distal.NewModel(r.model, options)
	if m == nil {
		return fmt.Errorf("%s: the model %s: %w", r.file, ModelFile, errors.Join(remarks.Errors()))
	}
	if name := m.Program.Core.Name; name != protocol.rest {
		return r.errorf(protocol, "the protocol is %s; the file %s has %s", protocol.rest, ModelFile, name)
	}
	r.m = m
	return fits(m)
}

// round reads a round and executes it on the model.
func (r *reader) round(index int) (Round, error) {
	tag := r.m.Tag(index)
	out := Round{Tag: tag, Name: r.m.Program.Round(tag), Hear: make([]uint64, r.m.Program.N),
		Sent: make([]uint64, r.m.Program.N)}
	head := r.lines[0]
	if _, ok := r.next("round"); !ok || head.rest != fmt.Sprintf("%d %s", index+1, out.Name) {
		return out, r.errorf(head, "%q; expected is a line of the round before (%s), or \"round %d %s\"",
			strings.TrimSpace(head.word+" "+head.rest), "timeout, request, hear, state", index+1, out.Name)
	}
	begun, err := r.begin(&out, head)
	if err != nil {
		return out, err
	}
	return out, r.finish(&out, head, begun)
}

// node reads the number of a node, from 0.
func (r *reader) node(l line) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(l.node))
	if err != nil || n < 1 || n > r.m.Program.N {
		return 0, r.errorf(l, "%q is no node; allowed are 1 to %d, with a colon: %s 1: ...", l.node, r.m.Program.N, l.word)
	}
	return n - 1, nil
}

// begin executes the first half of a round. It returns the ways in which each node may have begun.
func (r *reader) begin(round *Round, head line) ([][]sequential.Step, error) {
	fires := make([]string, r.m.Program.N)
	lines := make([]line, r.m.Program.N)
	for {
		l, ok := r.next("timeout")
		request := false
		if !ok {
			if l, request = r.next("request"); !request {
				break
			}
		}
		n, err := r.node(l)
		if err != nil {
			return nil, err
		}
		if fires[n] != "" {
			return nil, r.errorf(l, "node %d has a second timeout or request in this round; allowed is one", n+1)
		}
		fires[n], lines[n] = cmp.Or(l.rest, "nothing"), l
		round.Starts = append(round.Starts, Start{n + 1, request})
	}
	begun := make([][]sequential.Step, r.m.Program.N)
	for n := range begun {
		if lines[n].number == 0 {
			lines[n] = head
		}
		var allowed []string
		for _, state := range r.nodes[n] {
			for _, st := range r.m.Send(n+1, state, round.Tag) {
				rule := ""
				if st.Action != nil {
					rule = ruleText(r.m, st.Action)
				}
				same := func(b sequential.Step) bool { return key(b.State) == key(st.State) }
				if st.Problem == nil && rule == fires[n] && !slices.ContainsFunc(begun[n], same) {
					begun[n] = append(begun[n], st)
				}
				allowed = append(allowed, cmp.Or(rule, "none"))
			}
		}
		if len(begun[n]) == 0 {
			return nil, r.errorf(lines[n], "node %d cannot fire %q in round %s; allowed: %s", n+1, fires[n], round.Name,
				list(allowed))
		}
		for _, s := range begun[n][0].Out {
			round.Sent[n] |= s.To
		}
	}
	return begun, nil
}

// key is what distinguishes states, also by messages that are still to be sent.
func key(s *machine.State) string { return string(s.AppendKey(nil)) }

// list lists alternatives, each once.
func list(texts []string) string {
	slices.Sort(texts)
	texts = slices.Compact(texts)
	const most = 8
	if len(texts) > most {
		texts = append(texts[:most:most], fmt.Sprintf("and %d more", len(texts)-most))
	}
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, "; ")
}

// finish executes the second half of a round.
func (r *reader) finish(round *Round, head line, begun [][]sequential.Step) error {
	if err := r.hears(round); err != nil {
		return err
	}
	want, lines := make([]string, r.m.Program.N), make([]line, r.m.Program.N)
	for {
		l, ok := r.next("state")
		if !ok {
			break
		}
		n, err := r.node(l)
		if err != nil {
			return err
		}
		want[n], lines[n] = l.rest, l
	}
	for n := range begun {
		at := lines[n]
		if at.number == 0 {
			at = head
		}
		if err := r.ends(round, n, want[n], at, begun); err != nil {
			return err
		}
	}
	return nil
}

// hears reads which nodes hear each other.
func (r *reader) hears(round *Round) error {
	for {
		l, ok := r.next("hear")
		if !ok {
			return nil
		}
		n, err := r.node(l)
		if err != nil {
			return err
		}
		if round.Hear[n] != 0 {
			return r.errorf(l, "node %d has a second line; allowed is one", n+1)
		}
		var senders []string
		for s := range round.Sent {
			if round.Sent[s]>>n&1 != 0 {
				senders = append(senders, fmt.Sprint(s+1))
			}
		}
		for _, word := range strings.Fields(l.rest) {
			if !slices.Contains(senders, word) {
				return r.errorf(l, "node %d does not hear %s: it sends nothing to it in round %s; allowed: %s", n+1, word,
					round.Name, list(senders))
			}
			s, _ := strconv.Atoi(word) // it is one of the senders
			round.Hear[n] |= 1 << (s - 1)
		}
	}
}

// ends keeps the states in which a node may end a round.
func (r *reader) ends(round *Round, n int, want string, at line, begun [][]sequential.Step) error {
	unchanged := map[string]bool{}
	for _, s := range r.nodes[n] {
		unchanged[r.m.Program.FormatState(s)] = true
	}
	var next []*machine.State
	var allowed []string
	for _, b := range begun[n] {
		for _, st := range r.m.Update(n+1, b.State, round.Tag, mailbox(round, n, begun)) {
			if st.Problem != nil {
				continue
			}
			text := r.m.Program.FormatState(st.State)
			allowed = append(allowed, text)
			known := slices.ContainsFunc(next, func(s *machine.State) bool { return key(s) == key(st.State) })
			if (text == want || want == "" && unchanged[text]) && !known {
				next = append(next, st.State)
			}
		}
	}
	if len(next) == 0 {
		text := "is as before"
		if want != "" {
			text = "is " + want
		}
		return r.errorf(at, "node %d %s at the end of round %s, which the model does not allow; allowed: %s", n+1, text,
			round.Name, list(allowed))
	}
	r.nodes[n] = next
	round.States = append(round.States, next[0])
	return nil
}

// mailbox has the messages that a node receives in a round.
func mailbox(round *Round, n int, begun [][]sequential.Step) (out []machine.Message) {
	for s := range begun {
		if round.Hear[n]>>s&1 == 0 {
			continue
		}
		for _, m := range begun[s][0].Out {
			if m.To>>n&1 != 0 {
				out = append(out, machine.Message{Type: m.Type, From: s + 1, Tag: round.Tag, Fields: m.Fields})
			}
		}
	}
	return out
}
