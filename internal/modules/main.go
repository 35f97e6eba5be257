// Command modules tidies and releases modules that require each other in a version that is not released yet, which the
// go command cannot do.
//
//	go run ./internal/modules tidy [-diff]    go mod tidy of every module
//	go run ../../internal/modules modfile V   in a target's directory: write the go.mod with which the target is built
//	                                          with version V of its library, and print its path, for go test -modfile
//	go run ./internal/modules release V [-n]  check the repository, make archives in out/release and tags of all
//	                                          modules; with -n only check, and print what would be made
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const usage = "usage: modules tidy [-diff] | modfile VERSION | release VERSION [-n]"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "modules:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch {
	case verb == "tidy" && len(args) == 1:
		return tidyAll(ctx, false, out)
	case verb == "tidy" && len(args) == 2 && args[1] == "-diff":
		return tidyAll(ctx, true, out)
	case verb == "modfile" && len(args) == 2:
		return writeModfile(ctx, args[1], out)
	case verb == "release" && (len(args) == 2 || len(args) == 3 && args[2] == "-n"):
		r := release{root: ".", version: args[1], out: "out/release", dryRun: len(args) == 3, platforms: platforms}
		return r.make(ctx, out)
	default:
		return errors.New(usage)
	}
}
