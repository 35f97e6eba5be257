package cli

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lockstep-go/lockstep/distal/system"
	"github.com/lockstep-go/lockstep/internal/testkit/clitest"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/maelstrom"
	"github.com/lockstep-go/lockstep/target/pbft"
	"github.com/lockstep-go/lockstep/target/raft"
	"github.com/lockstep-go/lockstep/target/register"
	"github.com/lockstep-go/lockstep/target/smr"
	"github.com/rogpeppe/go-internal/goproxytest"
)

// testApp is the command line of the transcripts.
var testApp = App{
	Targets: slices.Concat(smr.Targets, raft.Targets, pbft.Targets, []target.Target{register.Target, maelstrom.Target,
		target.Of("distal", "a protocol written in Distal", system.Program{}, system.Properties).Gathered("params")}),
	Programs: []target.Program{
		{
			Name:     "counter",
			Help:     "a counter on nodes that forward it",
			Package:  "example.com/toy/counter",
			Module:   "example.com/toy",
			Dir:      os.Getenv("TOY"),
			Library:  "example.com/count",
			Versions: []string{"v1.1.0", "v1.0.0"},
		},
		{
			Name:     "fixed",
			Help:     "the same with its bug fixed",
			Package:  "example.com/toy/fixed",
			Module:   "example.com/toy",
			Dir:      os.Getenv("TOY"),
			Library:  "example.com/count",
			Versions: []string{"v1.0.0"},
			Changed:  "fixed",
			Overlay: func(library fs.FS) (map[string][]byte, error) {
				text, err := fs.ReadFile(library, "count.go")
				return map[string][]byte{
					"count.go": bytes.Replace(text, []byte("return heard"), []byte("return max(own, heard)"), 1),
				}, err
			},
		},
		{
			Name:     "nowhere",
			Help:     "a program without a source",
			Package:  "example.com/nowhere/x",
			Module:   "example.com/nowhere",
			Library:  "example.com/count",
			Versions: []string{"v1.0.0"},
		},
	},
}

// The transcripts under testdata/script run the tool as a user does.
func TestMain(m *testing.M) {
	if os.Getenv(aloneVariable) != "" {
		aloneApp.Main()
	}
	if os.Getenv(endlessVariable) != "" {
		endlessApp().Main()
	}
	clitest.Main(m, testApp.Main)
}

func TestScripts(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	proxy := goproxytest.NewTestServer(t, "testdata/mod", "")
	clitest.Run(t, map[string]string{"GOPROXY": proxy.URL + ",$GOPROXY", "GONOSUMDB": "example.com", "ROOT": root,
		"EXAMPLES": filepath.Join(root, "examples", "distal"), "TOY": "$WORK/toy"})
}
