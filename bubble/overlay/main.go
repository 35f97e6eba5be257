package overlay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// verbs are the commands of the go tool that Main supports.
var verbs = []string{"build", "test", "run", "vet", "install"}

// Main is "lockstep go": the go command with the overlay, e.g. with the arguments test ./...
// It returns the exit code.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	tool, full, err := command(ctx, args)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "lockstep go: %v\n", err)
		return 2
	}
	c := exec.CommandContext(ctx, tool.Command(), full...)
	c.Env = tool.Environment(os.Environ())
	c.Stdin, c.Stdout, c.Stderr = stdin, stdout, stderr
	var exit *exec.ExitError
	switch err := c.Run(); {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	default:
		_, _ = fmt.Fprintf(stderr, "lockstep go: %v\n", err)
		return 2
	}
}

// command is the go command with its arguments.
func command(ctx context.Context, args []string) (*Toolchain, []string, error) {
	if len(args) == 0 || !slices.Contains(verbs, args[0]) {
		return nil, nil, fmt.Errorf("the first argument must be one of %s", strings.Join(verbs, ", "))
	}
	tool, err := Installed(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	index, err := tool.Generate()
	if err != nil {
		return nil, nil, err
	}
	rest, tags := withoutTags(args[1:])
	return tool, append(
		[]string{args[0], "-overlay", index, "-tags", strings.Join(append(tags, Tag), ",")},
		rest...), nil
}

// withoutTags removes the build tags from the arguments of the go command, and returns both.
func withoutTags(args []string) (rest, tags []string) {
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(strings.TrimPrefix(args[i], "-"), "=")
		switch {
		case name != "-tags" && name != "tags" || !strings.HasPrefix(args[i], "-"):
			rest = append(rest, args[i])
			if args[i] == "-args" || args[i] == "--args" { // later arguments belong to the program
				return append(rest, args[i+1:]...), tags
			}
			continue
		case !has && i+1 < len(args):
			i++
			value = args[i]
		}
		tags = append(tags, strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return rest, tags
}
