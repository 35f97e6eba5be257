package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lockstep-go/lockstep/internal/scratch"
)

// Program builds the main package of a module in a version with the go tool, and returns the file. It builds the
// package in a separate module, because a server's package often cannot be installed. The user's cache keeps the file,
// so that it is built once.
func Program(ctx context.Context, pkg, version string) (string, error) {
	if strings.HasPrefix(pkg, "-") || strings.HasPrefix(version, "-") { // the go tool would parse it as a flag
		return "", fmt.Errorf("process: the package %q in version %q: neither may begin with -", pkg, version)
	}
	dir, err := Cached(strings.NewReplacer("/", "-", ":", "-").Replace(pkg+"@"+version), func(dir string) error {
		Notify("building %s@%s, once: it is kept in the user's cache", pkg, version)
		return buildProgram(ctx, dir, pkg, version)
	})
	if err != nil {
		return "", fmt.Errorf("process: building %s@%s: %w", pkg, version, err)
	}
	return filepath.Join(dir, "program"), nil
}

func buildProgram(ctx context.Context, dir, pkg, version string) error {
	tool, err := exec.LookPath("go")
	if err != nil {
		return errors.New("the go tool is missing")
	}
	temporary, err := scratch.New("", "build")
	if err != nil {
		return err
	}
	defer func() { _ = temporary.Remove() }()
	work := temporary.Path
	for _, arguments := range [][]string{
		{"mod", "init", "program"},
		{"get", "--", pkg + "@" + version},
		{"build", "-o", filepath.Join(dir, "program"), "--", pkg},
	} {
		cmd := exec.CommandContext(ctx, tool, arguments...)
		cmd.Dir, cmd.Env = work, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %s (%w)", strings.Join(arguments, " "), strings.TrimSpace(string(out)), err)
		}
	}
	return nil
}
