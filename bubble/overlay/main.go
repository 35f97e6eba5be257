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
	rest, values := without([]string{"tags", "preempt"}, args[1:])
	tags := slices.Concat(values["tags"], []string{Tag})
	if len(values["preempt"]) == 0 {
		index, err := tool.Generate()
		return tool, append([]string{args[0], "-overlay", index, "-tags", strings.Join(tags, ",")}, rest...), err
	}
	if slices.ContainsFunc(rest, func(arg string) bool { return strings.TrimLeft(arg, "-") == "race" }) {
		return nil, nil, errors.New("-preempt and -race exclude each other: both are calls that the compiler inserts")
	}
	tags = append(tags, PointsTag)
	list := append([]string{"list", "-tags", strings.Join(tags, ",")}, modules(rest)...)
	points, err := tool.GeneratePoints(values["preempt"], func(args ...string) (string, error) {
		c := exec.CommandContext(ctx, tool.Command(), slices.Concat(list, args)...)
		c.Env = tool.Environment(os.Environ())
		c.Stderr = os.Stderr
		out, err := c.Output()
		return string(out), err
	})
	full := append([]string{args[0], "-overlay", points.Index, "-tags", strings.Join(tags, ",")}, points.Flags...)
	return tool, append(full, rest...), err
}

// modules returns the flags of the go command that select modules.
func modules(args []string) (flags []string) {
	_, values := without([]string{"mod", "modfile"}, args)
	for _, name := range []string{"mod", "modfile"} {
		for _, v := range values[name] {
			flags = append(flags, "-"+name+"="+v)
		}
	}
	return flags
}

// without removes flags from the arguments of the go command, and returns their values, which are lists. Both the
// form -name value and -name=value are known.
func without(flags, args []string) (rest []string, values map[string][]string) {
	values = map[string][]string{}
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(strings.TrimPrefix(args[i], "-"), "=")
		name = strings.TrimPrefix(name, "-")
		switch {
		case !slices.Contains(flags, name) || !strings.HasPrefix(args[i], "-"):
			rest = append(rest, args[i])
			if args[i] == "-args" || args[i] == "--args" { // later arguments belong to the program
				return append(rest, args[i+1:]...), values
			}
			continue
		case !has && i+1 < len(args):
			i++
			value = args[i]
		}
		values[name] = append(values[name],
			strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	return rest, values
}
