package bftsmart

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// sources are what is built, from the project's root. The pom of the first names them.
var sources = []string{"target/bftsmart/pom.xml", "target/bftsmart/agent", "clients/java/pom.xml", "clients/java/src"}

// Setup fetches BFT-SMaRt and builds the agent with Maven, where that has not been done, and
// returns the folder with the jars in the user's cache. Nothing is written elsewhere, except
// for what Maven keeps for itself.
func Setup(ctx context.Context) (string, error) {
	root, err := source()
	if err != nil {
		return "", err
	}
	files, key, err := read(root)
	if err != nil {
		return "", fmt.Errorf("bftsmart: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("bftsmart: %w", err)
	}
	folder := filepath.Join(cache, "lockstep", "bftsmart", key)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := build(ctx, files, folder); err != nil {
		return "", fmt.Errorf("bftsmart: %w", err)
	}
	return folder, nil
}

// source is the root of the project that this program was built from.
func source() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", errors.New("bftsmart: the agent is built from the project's source, and this program does not know where that is (it was built with -trimpath)")
	}
	return filepath.Join(filepath.Dir(file), "..", ".."), nil
}

// read reads the sources; their hash is the key of what is built from them.
func read(root string) (files map[string][]byte, key string, err error) {
	files = map[string][]byte{}
	hash := sha256.New()
	for _, s := range sources {
		err := filepath.WalkDir(filepath.Join(root, s), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if d.Name() == "target" && s == "target/bftsmart/agent" {
					return filepath.SkipDir // built by hand
				}
				return nil
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			files[name], err = os.ReadFile(path)
			fmt.Fprintf(hash, "%s %d\n%s", name, len(files[name]), files[name])
			return err
		})
		if err != nil {
			return nil, "", err
		}
	}
	return files, hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

// build builds in a folder of its own and moves what came of it to its place.
func build(ctx context.Context, files map[string][]byte, folder string) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return errors.New("there is no mvn here, which fetches BFT-SMaRt and builds the agent")
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(folder), "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for name, text := range files {
		path := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "-DskipTests", "package")
	cmd.Dir = filepath.Join(work, "target", "bftsmart")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mvn package: %w\n%s", err, tail(out))
	}
	lib := filepath.Join(cmd.Dir, "agent", "target", "lib")
	if err := os.Rename(filepath.Join(cmd.Dir, "agent", "target", agentJar), filepath.Join(lib, agentJar)); err != nil {
		return err
	}
	if err := os.Rename(lib, folder); err != nil && !errors.Is(err, fs.ErrExist) { // or somebody else was faster
		return err
	}
	return nil
}

// agentJar is the agent's own.
const agentJar = "lockstep-bftsmart-0.1.0-SNAPSHOT.jar"

// tail are the last lines of what Maven said.
func tail(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
