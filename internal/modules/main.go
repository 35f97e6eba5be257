// Command modules does what the go command cannot do for modules that require each other in a version that is not
// released yet.
//
//	go run ./internal/modules tidy [-diff]    go mod tidy of every module
//	go run ../../internal/modules modfile V   in a target's directory: write the go.mod with which the target is built
//	                                          with version V of its library, and print its path, for go test -modfile
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
)

const usage = "usage: modules tidy [-diff] | modfile VERSION"

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
	switch {
	case len(args) == 1 && args[0] == "tidy":
		return tidyAll(ctx, false, out)
	case len(args) == 2 && args[0] == "tidy" && args[1] == "-diff":
		return tidyAll(ctx, true, out)
	case len(args) == 2 && args[0] == "modfile":
		return writeModfile(ctx, args[1], out)
	default:
		return errors.New(usage)
	}
}
