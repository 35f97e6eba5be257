package cli

import (
	"strings"

	"github.com/lockstep-go/lockstep/strategy"
)

// SplitStrategies splits "uniform:period=4,rounds=16,walk baseline" into three.
func SplitStrategies(list string) []string {
	var out []string
	for _, word := range strings.Fields(list) {
		start := 0
		for i := 0; i < len(word); i++ {
			if word[i] == ',' && isStrategy(word[i+1:]) {
				out = append(out, word[start:i])
				start = i + 1
			}
		}
		out = append(out, word[start:])
	}
	return out
}

// isStrategy reports whether a text begins with the name of a strategy, instead of a key=value of the strategy before
// it.
func isStrategy(text string) bool {
	name := text[:strings.IndexAny(text+",", ",:=")]
	if strings.HasPrefix(text[len(name):], "=") {
		return false
	}
	for _, k := range strategy.All() {
		if k.Name == name {
			return true
		}
	}
	return !strings.Contains(text, "=") || strings.HasPrefix(text[len(name):], ":")
}
