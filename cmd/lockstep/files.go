package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockstep-go/lockstep/trace"
)

// outFile is a file being written under a temporary name.
type outFile interface {
	io.WriteCloser
	Chmod(fs.FileMode) error
	Name() string
}

func createTemp(dir string) (outFile, error) { return os.CreateTemp(dir, ".lockstep-*") }

// checkOut reports before any work is done when a folder could not be written to.
func checkOut(dir string) error {
	at := dir
	for {
		info, err := os.Stat(at)
		if err == nil {
			if !info.IsDir() {
				return fmt.Errorf("--out %s: %s is not a folder", dir, at)
			}
			break
		}
		parent := filepath.Dir(at)
		if !errors.Is(err, os.ErrNotExist) || parent == at {
			return fmt.Errorf("--out %s cannot be used: %w", dir, err)
		}
		at = parent
	}
	f, err := os.CreateTemp(at, ".lockstep-*")
	if err != nil {
		return fmt.Errorf("--out %s cannot be written to: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// traceName is the file name of a finding's trace.
func traceName(h trace.Header, f *trace.Finding) string {
	name := fmt.Sprintf("%s-%s-seed%d-run%d.trace", h.Target, f.Property, h.Seed, h.Run)
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == ' ' || r < 0x20 {
			return '_'
		}
		return r
	}, name)
}

// saveTrace stores a trace in a folder. Where that fails, it tries the folder for
// temporary files, so that what was found is not lost, and still reports the failure.
func saveTrace(e *env, dir, name string, t *trace.Trace) (string, error) {
	file := filepath.Join(dir, name)
	err := e.writeTrace(file, t)
	if err == nil {
		return file, nil
	}
	err = fmt.Errorf("the trace could not be written to %s: %w", file, err)
	spare := filepath.Join(os.TempDir(), name)
	if e.writeTrace(spare, t) == nil {
		return spare, fmt.Errorf("%w; it is in %s instead", err, spare)
	}
	fmt.Fprintln(e.err, "lockstep: no folder takes the trace, so here it is:")
	_ = trace.Write(e.err, t)
	return "", err
}

// writeTrace writes a trace, and the pictures that go with it.
func (e *env) writeTrace(file string, t *trace.Trace) error {
	err := e.write(file, func(w io.Writer) error { return trace.Write(w, t) })
	for _, p := range t.Pictures {
		err = errors.Join(err, e.writeFile(strings.TrimSuffix(file, ".trace")+"-"+p.Name, p.Data))
	}
	return err
}

func (e *env) writeFile(file string, data []byte) error {
	return e.write(file, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// write writes a file so that what stands under its name is always whole.
func (e *env) write(file string, content func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	f, err := e.create(filepath.Dir(file))
	if err != nil {
		return err
	}
	err = errors.Join(content(f), f.Chmod(0o666&^umask()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// joinLines makes one line of a text.
func joinLines(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\n", "; ")), " ")
}

// quoted is a file name as a shell takes it.
func quoted(s string) string {
	if strings.ContainsAny(s, " '\"$&;()<>|*?[]#~`\\\t") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
