// Command lockstepgo is the go command with Lockstep's overlay of the standard library:
//
//	go run github.com/lockstep-go/lockstep/bubble/overlay/lockstepgo test ./...
package main

import (
	"context"
	"os"

	"github.com/lockstep-go/lockstep/bubble/overlay"
)

func main() { os.Exit(overlay.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
