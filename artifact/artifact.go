// Package artifact turns a failing run into files: it shrinks the run, derives its lock-step form, draws it as a page,
// and stores everything. Go tests and the command line both use it.
package artifact

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/internal/words"
	"github.com/lockstep-go/lockstep/lockstepform"
	"github.com/lockstep-go/lockstep/report"
	"github.com/lockstep-go/lockstep/rounds"
	"github.com/lockstep-go/lockstep/shrink"
	"github.com/lockstep-go/lockstep/trace"
)

// DefaultShrinkFor is the default time limit for shrinking a run of a system with best-effort determinism.
const DefaultShrinkFor = time.Minute

// DefaultShrinkTimed is the default time limit for shrinking a run of a deterministic system whose time passes, such as
// a whole server: there are always more times of requests and faults to try.
const DefaultShrinkTimed = 10 * time.Minute

// Options configure how a failing run is shrunk and stored.
type Options struct {
	// Dir is the directory for the files. It is created if it does not exist.
	Dir string
	// Name is the name of the files without an extension; empty means NameIn.
	Name string
	// Found also stores the original run besides the shrunk one.
	Found bool
	// NoShrink keeps the original run.
	NoShrink bool
	// Shrink configures the shrinking.
	Shrink shrink.Options
	// ShrinkFor is the time limit for shrinking. The value 0 means DefaultShrinkFor for a system with best-effort
	// determinism, whose runs may take seconds, DefaultShrinkTimed for one whose time passes, and no limit for others.
	// A negative value means no limit.
	ShrinkFor time.Duration
	// Tool names the program that found the run, for the headers of the traces; empty leaves the headers unchanged.
	Tool string
	// Replay returns the command that replays the trace in a file, to be shown on the page.
	Replay func(file string) string
	// Fresh returns the command by which another process replays the trace in a file and calls [Replayed]. nil disables
	// the rerun in a fresh process.
	Fresh func(file string) []string
	// Write writes a file; nil means [WriteFile].
	Write func(file string, content func(io.Writer) error) error
}

// Kept is a stored failing run.
type Kept struct {
	// Trace is the run, shrunk if possible.
	Trace *trace.Trace
	// Form is the lock-step form of the run: the trace itself if it is in rounds, and nil if there is none. Note
	// describes how the form differs from the run, or why there is none.
	Form *trace.Trace
	Note string
	// Shrunk is the result of shrinking, or nil; NotShrunk then explains why.
	Shrunk    *shrink.Shrunk
	NotShrunk error
	// Why describes how the run differs from the nearest run that passes, in a few lines; nil if none was found.
	Why []string
	// Fresh describes the result of the rerun in a fresh process; empty if there was no rerun. Differs says that the
	// rerun differed: the run depends on earlier activity of the process, and is flaky.
	Fresh   string
	Differs bool
	// File and Page are the paths of the trace and the page; empty if they could not be stored. FoundFile is the path of
	// the original run; empty if the run was not shrunk.
	File, Page, FoundFile string
	// Pictures are the paths of the spec's pictures, such as the history of operations.
	Pictures []string
}

// Run shrinks a failing run, derives its lock-step form, draws both and stores everything. The error describes what
// could not be stored; the result contains the rest.
func Run(ctx context.Context, plan lockstep.Plan, found *trace.Trace, o Options) (*Kept, error) {
	plan.Progress, plan.OnFailure, plan.Observers = nil, nil, nil
	k := &Kept{Trace: found}
	if f := found.Outcome.Finding; f != nil && f.Property == lockstep.Hang {
		k.NotShrunk = errors.New("the run hangs, and so would its repetitions")
		k.Note = "no lock-step form: " + k.NotShrunk.Error()
		return k, k.store(found, o)
	}
	if !o.NoShrink {
		// Store the original run first, so that it survives an interrupted shrinking. An error here occurs again below.
		if base, err := o.prepare(found); err == nil {
			_ = Trace(o.Write, base+".trace", found)
		}
		if k.Shrunk, k.NotShrunk = Shrink(ctx, plan, found, o.Shrink, o.ShrinkFor); k.NotShrunk == nil {
			k.Trace = k.Shrunk.Trace
			k.Why = Why(ctx, plan, k.Trace)
		}
	}
	k.Form, k.Note = Form(ctx, plan, k.Trace)
	err := k.store(found, o)
	k.Fresh, k.Differs = Fresh(ctx, plan, k.Trace, k.File, o.Fresh)
	return k, err
}

// The limits of the search for the nearest passing run, and the number of nodes whose differences are described.
const (
	whyAttempts = 300
	whyFor      = time.Minute
	whyNodes    = 5
)

// Why describes in a few lines how a shrunk run differs from the nearest one that passes. It returns nil if it finds
// none within a minute, which says nothing about the failing run, and for a run that was not shrunk: it passes without
// many of its steps, and none of them explains much.
func Why(ctx context.Context, plan lockstep.Plan, t *trace.Trace) []string {
	if f := t.Outcome.Finding; f == nil || t.Header.Shrunk == "" || f.Property == lockstep.Hang {
		return nil
	}
	if info, err := plan.System.Describe(); err != nil || info.Determinism == lockstep.BestEffort {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, whyFor)
	defer cancel()
	passing, err := shrink.Nearest(ctx, plan, t, shrink.Options{Attempts: whyAttempts})
	if err != nil {
		return nil
	}
	return passing.Lines(whyNodes)
}

// Limit returns the time limit that [Options.ShrinkFor] means for a system; 0: there is none.
func Limit(s lockstep.System, most time.Duration) time.Duration {
	if info, err := s.Describe(); err == nil && most == 0 {
		switch {
		case info.Determinism == lockstep.BestEffort:
			most = DefaultShrinkFor
		case info.Supports.Has(trace.Wait):
			most = DefaultShrinkTimed
		}
	}
	return max(most, 0)
}

// Shrink shrinks a run within a time limit, as described by [Options.ShrinkFor]. At the limit it returns the smallest
// run so far.
func Shrink(ctx context.Context, plan lockstep.Plan, t *trace.Trace, o shrink.Options,
	most time.Duration) (*shrink.Shrunk, error) {
	if most = Limit(plan.System, most); most > 0 {
		limited, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		ctx = limited
	}
	return shrink.Run(ctx, plan, t, o)
}

// prepare completes the options and creates the directory; the paths of all files begin with base.
func (o *Options) prepare(found *trace.Trace) (base string, err error) {
	if o.Write == nil {
		o.Write = WriteFile
	}
	if o.Name == "" {
		o.Name = NameIn(o.Dir, found, found.Header.Run)
	}
	if o.Tool != "" {
		found.Header.Tool = o.Tool
	}
	if err := MakeDir(o.Dir); o.Dir != "" && err != nil {
		return "", fmt.Errorf("the trace could not be stored: %w", err)
	}
	return filepath.Join(o.Dir, o.Name), nil
}

// store writes the files.
func (k *Kept) store(found *trace.Trace, o Options) error {
	base, err := o.prepare(found)
	if err != nil {
		return err
	}
	if o.Tool != "" {
		k.Trace.Header.Tool = o.Tool
	}
	if err := Trace(o.Write, base+".trace", k.Trace); err != nil {
		return fmt.Errorf("the trace could not be stored: %w", err)
	}
	k.File = base + ".trace"
	var failed error
	views := report.Views{Found: found}
	if k.Shrunk != nil {
		views.Shrunk = k.Trace
		if o.Found {
			if failed = Trace(o.Write, base+".found.trace", found); failed == nil {
				k.FoundFile = base + ".found.trace"
			}
		}
	}
	if len(k.Trace.Rounds) == 0 {
		views.Lockstep = k.Form
	}
	page := report.PageOptions{Note: k.Note, Why: k.Why}
	for _, p := range k.Trace.Pictures {
		k.Pictures = append(k.Pictures, pictureFile(k.File, p))
	}
	page.Pictures = k.Pictures
	if o.Replay != nil {
		page.Replay = o.Replay(k.File)
	}
	err = o.Write(base+".html", func(w io.Writer) error { return report.Page(w, views, page) })
	if err == nil {
		k.Page = base + ".html"
	}
	return errors.Join(failed, err)
}

// Trace writes a trace and its pictures.
func Trace(write func(string, func(io.Writer) error) error, file string, t *trace.Trace) error {
	err := write(file, func(w io.Writer) error { return trace.Write(w, t) })
	for _, p := range t.Pictures {
		err = errors.Join(err, write(pictureFile(file, p), func(w io.Writer) error {
			_, err := w.Write(p.Data)
			return err
		}))
	}
	return err
}

// pictureFile returns the path of a picture that belongs to the trace in a file. It is beside the trace, whatever the
// name of the picture.
func pictureFile(file string, p trace.Picture) string {
	base, name := strings.TrimSuffix(filepath.Base(file), ".trace"), SafeName(p.Name)
	if len(base)+1+len(name) > maxFile {
		extension := filepath.Ext(name)
		if len(extension) > len(".html") {
			extension = ""
		}
		name = fmt.Sprintf("%x", sha256.Sum256([]byte(p.Name)))[:16] + extension
	}
	return filepath.Join(filepath.Dir(file), base+"-"+name)
}

// maxFile bounds the length of a file name in bytes.
const maxFile = 200

// Form returns the lock-step form of a run. The text describes how the form differs from the run, or why there is none.
func Form(ctx context.Context, plan lockstep.Plan, t *trace.Trace) (*trace.Trace, string) {
	if len(t.Rounds) > 0 && rounds.Check(t) == nil {
		return t, ""
	}
	r, err := lockstepform.Form(ctx, plan, t)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, "no lock-step form: the time for its search was over"
	case ctx.Err() != nil:
		return nil, "no lock-step form: interrupted"
	case err != nil:
		text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "lockstep: "), "lockstepform: ")
		return nil, "no lock-step form: " + text
	case r.Trace == nil && r.Break != nil:
		return nil, fmt.Sprintf("no lock-step form: %s. What breaks the rounds: %s", r.Reason, r.Break)
	case r.Trace == nil:
		return nil, "no lock-step form: " + r.Reason
	case r.Ignored == 0:
		return r.Trace, "equivalent lock-step form"
	default:
		return r.Trace, fmt.Sprintf("equivalent lock-step form, %s shown as lost",
			words.Count(r.Ignored, "delivery that changed nothing"))
	}
}

// NameOf returns the name of the files of a failing run: target, version and scenario if present, property, seed and
// number.
func NameOf(t *trace.Trace) string { return NameOfRun(t, t.Header.Run) }

// NameOfRun is NameOf for a run whose number differs from the one of its seed: a strategy may give several runs the
// same seed.
func NameOfRun(t *trace.Trace, run int) string {
	property := "pass"
	if t.Outcome.Finding != nil {
		property = t.Outcome.Finding.Property
	}
	parts := []string{
		t.Header.Target,
		t.Header.Options["version"],
		t.Header.Scenario,
		property,
		fmt.Sprintf("seed%d-run%d", t.Header.Seed, run),
	}
	return SafeName(strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "-"))
}

// NameIn is NameOfRun in a directory. If the directory has a trace with this name, but with other options or another
// strategy, the name ends with a hash of them. Then neither trace overwrites the other.
func NameIn(dir string, t *trace.Trace, run int) string {
	name := NameOfRun(t, run)
	file, err := os.Open(filepath.Join(dir, name+".trace"))
	if err != nil {
		return name
	}
	defer file.Close()
	if there, err := trace.Read(file); err == nil && planOf(there) == planOf(t) {
		return name
	}
	return fmt.Sprintf("%s-%.2x", name, sha256.Sum256([]byte(planOf(t))))
}

// planOf returns the common properties of all runs of a plan.
func planOf(t *trace.Trace) string {
	h := t.Header
	// fmt prints maps in key order
	return fmt.Sprintf("%q %q %q %q %q %d", h.Target, h.Build, h.Options, h.Strategy, h.Scenario, h.Nodes)
}

// MaxName bounds the length of a name in bytes. Pictures and extensions add to the name; the file name stays within 200
// bytes, which every file system accepts.
const MaxName = 160

// SafeName turns a text into a part of a file name that needs no shell quotes and is not a command option. A long name
// is truncated and ends with a hash of the whole text.
func SafeName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r <= ' ' || r == utf8.RuneError || unicode.IsControl(r) ||
			strings.ContainsRune(`/\:*?"'<>|$&;()[]#~`+"`", r) {
			return '_'
		}
		return r
	}, text)
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, ".") {
		name = "_" + name[1:]
	}
	if len(name) <= MaxName {
		return name
	}
	hash := fmt.Sprintf("-%x", sha256.Sum256([]byte(text)))[:17]
	cut := MaxName - len(hash)
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + hash
}
