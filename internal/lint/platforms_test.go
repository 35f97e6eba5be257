package main

import (
	"os"
	"strings"
	"testing"

	loader "golang.org/x/tools/go/packages"
)

// needsUnix are packages whose systems are processes in process groups, which requires Unix.
var needsUnix = []string{
	"process",
	"internal/child",
	"internal/testkit/servertest",
	"target/cassandra",
	"target/etcd",
	"target/maelstrom",
	"target/netrix",
	"target/ratis",
}

// The root module, with the command, type-checks for every platform of a release. The test compiles nothing, so that it
// needs no machine of that platform.
func TestPlatforms(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads the standard library of other platforms")
	}
	platforms := []string{"darwin/arm64", "windows/amd64"}
	if os.Getenv("LOCKSTEP_FULL") != "" {
		platforms = append(platforms, "darwin/amd64", "linux/arm64", "windows/arm64")
	}
	for _, platform := range platforms {
		system, processor, _ := strings.Cut(platform, "/")
		config := &loader.Config{
			Dir:  "../../cmd",
			Env:  append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0", "GOWORK=off"),
			Mode: loader.LoadAllSyntax,
		}
		all, err := loader.Load(config, module+"/...")
		if err != nil {
			t.Fatal(err)
		}
		if len(all) < 100 {
			t.Errorf("%s: only %d packages", platform, len(all))
		}
		loader.Visit(all, nil, func(p *loader.Package) {
			for _, e := range p.Errors {
				if system != "windows" || !unixOnly(p.PkgPath) {
					t.Errorf("%s: %s: %v", platform, p.PkgPath, e)
				}
			}
		})
		loader.Visit(find(all, module+"/cmd/lockstep"), nil, func(p *loader.Package) {
			if system == "windows" && unixOnly(p.PkgPath) {
				t.Errorf("the command for %s links %s", platform, p.PkgPath)
			}
		})
	}
}

// find returns the package with a path.
func find(all []*loader.Package, path string) []*loader.Package {
	for _, p := range all {
		if p.PkgPath == path {
			return []*loader.Package{p}
		}
	}
	return nil
}

func unixOnly(path string) bool {
	for _, p := range needsUnix {
		if path == module+"/"+p || strings.HasPrefix(path, module+"/"+p+"/") {
			return true
		}
	}
	return false
}
