package build

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/bubble/overlay"
)

// prepareCounters adds the overlay of Go for programs whose statements have counters.
func (j *job) prepareCounters(ctx context.Context) (err error) {
	j.sources = map[string]string{}
	if j.tool == nil {
		j.tool, err = overlay.Installed(ctx, j.source)
	}
	if err == nil {
		j.counts, err = j.tool.GenerateCounters()
	}
	if err != nil {
		return fmt.Errorf("%s cannot be built with counters of its statements: %w", j.name(), err)
	}
	return j.addOverlay(j.counts)
}

// counterFlags are the flags with which the go command adds counters.
func (j *job) counterFlags() []string {
	flags := []string{"-cover", "-covermode=count"}
	if len(j.Counted) > 0 { // without the main package the go command links no access to the counters
		flags = append(flags, "-coverpkg="+strings.Join(append([]string{j.program.Package}, j.Counted...), ","))
	}
	return flags
}

// addSource notes the directory of a module, if its packages may be counted.
func (j *job) addSource(m *module) {
	if !j.Counters || m == nil || m.Dir == "" {
		return
	}
	counted := len(j.Counted) == 0 && fixed(m) == ""
	for _, pattern := range j.Counted {
		at, _, _ := strings.Cut(pattern, "...")
		at = strings.TrimSuffix(at, "/")
		counted = counted || strings.HasPrefix(m.Path, at) || strings.HasPrefix(at, m.Path)
	}
	if counted {
		j.sources[m.Path] = m.Dir
	}
}

// packSources encodes the directories of modules without spaces and quotes.
func (j *job) packSources() string {
	text, err := json.Marshal(j.sources)
	if err != nil {
		return "" // unreachable: texts can be encoded
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
