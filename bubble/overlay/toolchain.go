package overlay

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Toolchain is a Go installation.
type Toolchain struct {
	Root    string // its directory, GOROOT
	Version string // go1.26.8

	system string // the target system of programs, GOOS
	linked bool   // Root is a link that Installed made
}

// Installed is the toolchain that the go command uses in a directory; empty means the working directory. The go command
// keeps downloaded toolchains in the module cache, and refuses to replace files below it. For such a toolchain, Root is
// a link to it in the user's cache.
func Installed(ctx context.Context, dir string) (*Toolchain, error) {
	c := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION", "GOMODCACHE", "GOOS")
	c.Dir = dir
	env, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(env)), "\n")
	if len(lines) != 4 {
		return nil, fmt.Errorf("go env says %q", env)
	}
	t := &Toolchain{Root: lines[0], Version: lines[1], system: lines[3]}
	if !strings.HasPrefix(t.Root, lines[2]+string(filepath.Separator)) {
		return t, nil
	}
	links, err := cache("toolchain")
	if err != nil {
		return nil, err
	}
	link := filepath.Join(links, filepath.Base(t.Root))
	if to, err := os.Readlink(link); err != nil || to != t.Root {
		_ = os.Remove(link)
		if err := os.Symlink(t.Root, link); err != nil && !os.IsExist(err) { // another process may have just made it
			return nil, err
		}
	}
	t.Root, t.linked = link, true
	return t, nil
}

// Generate writes the overlay for the toolchain to the user's cache and returns the path of the overlay's index for the
// go command.
func (t *Toolchain) Generate() (string, error) {
	if err := t.supported(); err != nil {
		return "", err
	}
	dir, err := cache("overlay")
	if err != nil {
		return "", err
	}
	return Generate(t.Root, t.Version, dir)
}

// supported reports whether the overlay fits the target system of programs.
func (t *Toolchain) supported() error {
	if t.system == "linux" {
		return nil
	}
	return fmt.Errorf(
		"the overlay of Go is made for linux, and programs are built for %s here; without the overlay, go build and go "+
			"test do",
		t.system,
	)
}

// GenerateCounters writes the overlay for programs whose statements have counters, like [Toolchain.Generate]. It fits
// every system.
func (t *Toolchain) GenerateCounters() (string, error) {
	dir, err := cache("overlay")
	if err != nil {
		return "", err
	}
	return GenerateCounters(t.Root, t.Version, dir)
}

// Command is the go command of the toolchain.
func (t *Toolchain) Command() string {
	if t.linked {
		return filepath.Join(t.Root, "bin", "go")
	}
	return "go"
}

// Environment returns the environment, changed so that the go command uses the toolchain.
func (t *Toolchain) Environment(env []string) []string {
	if t.linked {
		env = append(env, "GOROOT="+t.Root, "GOTOOLCHAIN=local")
	}
	return env
}

// cache makes a directory for generated files.
func cache(name string) (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(user, "lockstep", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf(
			"the overlay of Go is kept in %s, which cannot be written: %w; XDG_CACHE_HOME sets another cache", dir, err)
	}
	return dir, nil
}
