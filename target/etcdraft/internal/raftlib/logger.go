package raftlib

import "fmt"

// Logger is the library's logger in every version. It discards messages, and panics where the library gives up, so
// that the panic becomes a finding.
type Logger struct{}

// Debug and the others discard their messages.
func (Logger) Debug(...any)            {}
func (Logger) Debugf(string, ...any)   {}
func (Logger) Info(...any)             {}
func (Logger) Infof(string, ...any)    {}
func (Logger) Warning(...any)          {}
func (Logger) Warningf(string, ...any) {}
func (Logger) Error(...any)            {}
func (Logger) Errorf(string, ...any)   {}

// Fatal and the others panic.
func (Logger) Fatal(v ...any)            { panic(fmt.Sprint(v...)) }
func (Logger) Fatalf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
func (Logger) Panic(v ...any)            { panic(fmt.Sprint(v...)) }
func (Logger) Panicf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
