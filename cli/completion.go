package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/lockstep-go/lockstep/strategy"
	"github.com/lockstep-go/lockstep/target"
)

// completionCmd prints a script that makes a shell complete the command line.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help returns the longer help.
func (completionCmd) Help() string {
	return `Examples:
  source <(lockstep completion bash)                                      in ~/.bashrc
  source <(lockstep completion zsh)                                       in ~/.zshrc, after compinit
  lockstep completion fish > ~/.config/fish/completions/lockstep.fish`
}

// scripts call the program itself for the words that may follow. If it returns none, the shell offers files.
var scripts = map[string]string{
	"bash": `_lockstep() {
	local IFS=$'\n'
	COMPREPLY=($("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _lockstep lockstep
`,
	"zsh": `_lockstep() {
	local -a found
	found=("${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _lockstep lockstep
`,
	"fish": `function __lockstep_complete
	set -l words (commandline -opc) (commandline -ct)
	$words[1] complete -- $words[2..] 2>/dev/null
end
complete -c lockstep -a '(__lockstep_complete)'
`,
}

// Run prints the script.
func (c *completionCmd) Run(e *Env) error {
	_, err := fmt.Fprint(e.Out, scripts[c.Shell])
	return err
}

// completeCmd answers the completion scripts.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words after the program's name; the last one is still being written."`
}

// Run prints the words that may replace the last one, one per line.
func (c *completeCmd) Run(e *Env) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	for _, w := range e.candidates(words[:len(words)-1], last) {
		if strings.HasPrefix(w, last) {
			fmt.Fprintln(e.Out, w)
		}
	}
	return nil
}

// candidates returns the words that may follow the given words.
func (e *Env) candidates(before []string, last string) []string {
	node, given, first := e.model, 0, "" // the command, the number of its arguments, and the first argument
	for i := 0; i < len(before); i++ {
		word := before[i]
		if strings.HasPrefix(word, "-") {
			f := flagOf(node, word)
			if f == nil || f.IsBool() || strings.Contains(word, "=") {
				continue
			}
			if i++; i == len(before) {
				return e.values(f.Name, f.Value, first)
			}
			continue
		}
		if child := childOf(node, word); child != nil {
			node, given, first = child, 0, ""
			continue
		}
		if given++; given == 1 {
			first = word
		}
	}
	if strings.HasPrefix(last, "-") {
		return flagsOf(node)
	}
	var names []string
	for _, child := range node.Children {
		if !child.Hidden && child.Type == kong.CommandNode {
			names = append(names, child.Name)
		}
	}
	if given < len(node.Positional) {
		p := node.Positional[given]
		names = append(names, e.values(p.Name, p, first)...)
	}
	return names
}

// values returns the values of a flag or an argument of a command with this first argument, if they are known.
func (e *Env) values(name string, v *kong.Value, first string) []string {
	switch {
	case v.Enum != "":
		return v.EnumSlice()
	case name == "target":
		return e.app.names()
	case name == "scenario":
		return e.app.scenarioNames(first)
	case name == "strategy" || name == "strategies":
		return strategyNames()
	case name == "name": // of the command list
		return append(e.app.names(), strategyNames()...)
	default:
		return nil
	}
}

// scenarioNames returns the names of a target's scenarios.
func (a *App) scenarioNames(name string) []string {
	var names []string
	if t, err := target.Find(a.Targets, name); err == nil {
		for _, s := range t.Scenarios {
			names = append(names, s.Name)
		}
	}
	return names
}

func strategyNames() []string {
	var names []string
	for _, k := range strategy.All() {
		names = append(names, k.Name)
	}
	return names
}

func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Type == kong.CommandNode && child.Name == name {
			return child
		}
	}
	return nil
}

// flagOf returns the flag that a word sets, or nil.
func flagOf(node *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			if f.Name == name {
				return f
			}
		}
	}
	return nil
}

// flagsOf returns the flags that a command accepts.
func flagsOf(node *kong.Node) []string {
	var names []string
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			names = append(names, "--"+f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
