// Package examples holds the example programs of the Distal language, each file beside this one. Of each there is a
// buggy and a fixed version that differ in little else; the first lines of a file say what the bug does.
package examples

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed *.distal
var files embed.FS

// Names lists the examples in order: benor_buggy, benor_fixed, ...
func Names() []string {
	list, err := fs.Glob(files, "*.distal")
	if err != nil || len(list) == 0 {
		panic("examples: nothing is embedded")
	}
	for i, name := range list {
		list[i] = strings.TrimSuffix(name, ".distal")
	}
	return list
}

// Source returns the text of an example.
func Source(name string) (string, error) {
	text, err := files.ReadFile(name + ".distal")
	if err != nil {
		return "", fmt.Errorf("there is no example %s; there are %s", name, strings.Join(Names(), ", "))
	}
	return string(text), nil
}
