package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Command is the path of the module whose program carries the mutants.
const Command = "github.com/lockstep-go/lockstep/cmd/lockstep"

// Builder builds the program that carries the mutants. It needs the go tool and the
// source of Lockstep.
type Builder struct {
	// Source is the folder of Lockstep's source; empty means that the go tool is asked for
	// it in the working directory.
	Source string
	// Cache is the folder for the changed files and the program; empty means a folder of
	// its own in os.UserCacheDir.
	Cache string
	// Go is the go tool; empty means "go".
	Go string
}

// Build makes the program and returns its path. The go tool keeps what it has compiled,
// so that it is quick when nothing changed.
//
// The go tool lets nobody put an overlay on its cache of modules. So the program is built
// with a go.mod of its own, in which the library is replaced by a folder that is not
// there: the overlay says what is in it, the library's own files or changed ones.
func (b Builder) Build(ctx context.Context, list []Mutant) (program string, err error) {
	cache, source, err := b.folders(ctx)
	if err != nil {
		return "", err
	}
	library, err := b.run(ctx, source, "list", "-m", "-f", "{{.Dir}}", Module)
	if err != nil {
		return "", err
	}
	virtual := filepath.Join(cache, "raft")
	overlay, err := writeOverlay(cache, virtual, library, list)
	if err != nil {
		return "", err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(cache, name), text, 0o666); err != nil {
			return "", err
		}
	}
	mod := filepath.Join(cache, "go.mod")
	if _, err := b.run(ctx, source, "mod", "edit", "-replace", Module+"="+virtual, mod); err != nil {
		return "", err
	}
	program = filepath.Join(cache, "lockstep-mutants")
	_, err = b.run(ctx, source, "build", "-modfile", mod, "-overlay", overlay, "-ldflags", "-X "+tell+"="+Variable, "-o", program, ".")
	return program, err
}

// tell is the variable from which the program knows that it carries mutants, so that its
// traces say which one was on.
const tell = "github.com/lockstep-go/lockstep/target/etcdraft/internal/v37.mutantVariable"

// Plain builds the program without mutants, next to the other one, for comparisons.
func (b Builder) Plain(ctx context.Context) (program string, err error) {
	cache, source, err := b.folders(ctx)
	if err != nil {
		return "", err
	}
	program = filepath.Join(cache, "lockstep-plain")
	_, err = b.run(ctx, source, "build", "-o", program, ".")
	return program, err
}

// folders are the one to build in and the one to build from.
func (b Builder) folders(ctx context.Context) (cache, source string, err error) {
	if cache, err = b.cache(); err != nil {
		return "", "", err
	}
	source, err = b.source(ctx)
	return cache, source, err
}

// cache makes the folder for what is built.
func (b Builder) cache() (string, error) {
	dir := b.Cache
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("there is no folder for what is built, --cache names one: %w", err)
		}
		dir = filepath.Join(user, "lockstep", "mutants")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o777)
}

// source finds the folder of the command.
func (b Builder) source(ctx context.Context) (string, error) {
	dir := filepath.Join(b.Source, "cmd", "lockstep")
	if b.Source == "" {
		var err error
		if dir, err = b.run(ctx, "", "list", "-m", "-f", "{{.Dir}}", Command); err != nil {
			return "", fmt.Errorf("the source of Lockstep is not found from here, which mutants are built from; go there or name its folder with --source: %w", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return "", fmt.Errorf("--source %s is not the source of Lockstep, which mutants are built from: %w", b.Source, err)
	}
	return dir, nil
}

// run runs the go tool and returns what it prints.
func (b Builder) run(ctx context.Context, dir string, args ...string) (string, error) {
	tool := b.Go
	if tool == "" {
		tool = "go"
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = dir
	if dir != "" { // a workspace would not take a go.mod of one's own
		cmd.Env = append(os.Environ(), "GOWORK=off")
	}
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("mutants are built with the go tool, which is missing: %w", err)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", tool, strings.Join(args, " "), err, strings.TrimSpace(failed.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// writeOverlay writes the changed files of the library, and the file that tells the go
// tool what is in the virtual folder.
func writeOverlay(cache, virtual, library string, list []Mutant) (string, error) {
	module := os.DirFS(library)
	replace := map[string]string{}
	err := fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && (name == "go.mod" || path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go")) {
			replace[filepath.Join(virtual, filepath.FromSlash(name))] = filepath.Join(library, filepath.FromSlash(name))
		}
		return err
	})
	if err != nil {
		return "", err
	}
	files, err := Instrument(module, list)
	if err != nil {
		return "", err
	}
	for _, f := range files {
		name := filepath.Join(cache, "changed", filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return "", err
		}
		if err := os.WriteFile(name, f.Text, 0o666); err != nil {
			return "", err
		}
		replace[filepath.Join(virtual, filepath.FromSlash(f.Name))] = name
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(cache, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o666)
}
