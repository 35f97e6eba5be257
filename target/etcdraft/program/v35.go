//go:build !v3.6

package main

import v35 "github.com/lockstep-go/lockstep/target/etcdraft/v35"

// Releases 3.5 and 3.6 register messages of the same names, so that a program can have only one of them.
func init() { besides = v35.Targets }
