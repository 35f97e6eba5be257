package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/target"
)

// archive returns the name of the archive for a platform.
func (r *release) archive(platform string) string {
	name := "lockstep-" + r.version + "-" + strings.ReplaceAll(platform, "/", "-")
	if strings.HasPrefix(platform, "windows/") {
		return name + ".zip"
	}
	return name + ".tar.gz"
}

// archives makes the archives of all platforms and a file with their checksums.
func (r *release) archives(ctx context.Context, out io.Writer) error {
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return err
	}
	seconds, err := r.git(ctx, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	committed, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, p := range r.platforms {
		name := r.archive(p)
		if err := r.writeArchive(ctx, p, name, time.Unix(committed, 0).UTC()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		text, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), name)
		fmt.Fprintln(out, "archive", filepath.Join(r.out, name))
	}
	return os.WriteFile(filepath.Join(r.out, "checksums.txt"), []byte(sums.String()), 0o666)
}

// entry is a file of an archive.
type entry struct {
	name string // in the archive
	from string
	mode int64
}

// writeArchive builds the command for a platform and packs it with its accompanying files. All entries have the time of
// the commit, so that the same commit and Go version produce the same archive.
func (r *release) writeArchive(ctx context.Context, platform, name string, at time.Time) (err error) {
	work, err := os.MkdirTemp("", "lockstep-release-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	system, processor, _ := strings.Cut(platform, "/")
	program := "lockstep"
	if system == "windows" {
		program += ".exe"
	}
	binary := filepath.Join(work, program)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", binary,
		"-ldflags", "-s -w -X "+target.Root+"/internal/build.release="+r.version, "./cmd/lockstep")
	cmd.Dir, cmd.Env = r.root, append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	entries := []entry{{program, binary, 0o755}}
	for _, file := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		entries = append(entries, entry{file, filepath.Join(r.root, file), 0o644})
	}
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	pack := packTar
	if strings.HasSuffix(name, ".zip") {
		pack = packZip
	}
	return errors.Join(pack(f, entries, at), f.Close())
}

// packTar writes a compressed tar file.
func packTar(w io.Writer, entries []entry, at time.Time) error {
	compressed := gzip.NewWriter(w)
	t := tar.NewWriter(compressed)
	for _, e := range entries {
		text, err := os.ReadFile(e.from)
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{
			Name:    e.name,
			Mode:    e.mode,
			Size:    int64(len(text)),
			ModTime: at,
			Format:  tar.FormatUSTAR,
		}); err != nil {
			return err
		}
		if _, err := t.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), compressed.Close())
}

// packZip writes a zip file.
func packZip(w io.Writer, entries []entry, at time.Time) error {
	z := zip.NewWriter(w)
	for _, e := range entries {
		text, err := os.ReadFile(e.from)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		header.SetMode(os.FileMode(e.mode))
		to, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := to.Write(text); err != nil {
			return err
		}
	}
	return z.Close()
}
