package jvm

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lockstep-go/lockstep/internal/scratch"
	"github.com/lockstep-go/lockstep/process"
)

// Compile compiles all Java files of some directories against the class path. It adds the result to the class path as a
// jar, and returns the name of the jar. With the name of a class premain, the jar is an agent of that class, for the
// flag -javaagent.
func (j *JVM) Compile(ctx context.Context, name, premain string, sources ...fs.FS) (string, error) {
	files, err := read(sources)
	if err != nil {
		return "", fmt.Errorf("jvm: the source of %s: %w", name, err)
	}
	parts := [][]byte{j.release(), []byte(j.path()), []byte(premain)}
	for _, f := range files {
		parts = append(parts, []byte(f.name), f.text)
	}
	dir, err := process.Cached(name+"-"+key(parts...), func(dir string) error {
		return compile(ctx, filepath.Join(dir, name+".jar"), j.path(), premain, files)
	})
	if err != nil {
		return "", fmt.Errorf("jvm: compiling %s: %w", name, err)
	}
	jar := filepath.Join(dir, name+".jar")
	j.Classes = append(j.Classes[:len(j.Classes):len(j.Classes)], jar)
	return jar, nil
}

// key is a hash of parts.
func key(parts ...[]byte) string {
	hash := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(hash, "%d\n", len(p))
		_, _ = hash.Write(p) // never fails
	}
	return fmt.Sprintf("%.6x", hash.Sum(nil))
}

// source is a Java file with its path among all sources.
type source struct {
	name string
	text []byte
}

// read reads the Java files of directories.
func read(dirs []fs.FS) (files []source, err error) {
	for i, dir := range dirs {
		err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".java") {
				return err
			}
			text, err := fs.ReadFile(dir, path)
			files = append(files, source{filepath.Join(fmt.Sprint(i), filepath.FromSlash(path)), text})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// compile creates a jar.
func compile(ctx context.Context, jar, path, premain string, files []source) error {
	compiler, err := tool("javac")
	if err != nil {
		return err
	}
	temporary, err := scratch.New("", "compile")
	if err != nil {
		return err
	}
	defer func() { _ = temporary.Remove() }()
	work := temporary.Path
	classes := filepath.Join(work, "classes")
	arguments := []string{"-encoding", "UTF-8", "-proc:none", "-nowarn", "-d", classes}
	if path != "" {
		arguments = append(arguments, "-cp", path)
	}
	for _, f := range files {
		name := filepath.Join(work, f.name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.text, 0o644); err != nil {
			return err
		}
		arguments = append(arguments, name)
	}
	if out, err := exec.CommandContext(ctx, compiler, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("javac says: %s (%w)",
			strings.ReplaceAll(strings.TrimSpace(string(out)), work+string(filepath.Separator), ""), err)
	}
	return pack(jar, premain, os.DirFS(classes))
}

// pack packs classes into a jar, which is a zip file with a manifest.
func pack(jar, premain string, classes fs.FS) (err error) {
	file, err := os.Create(jar)
	if err != nil {
		return err
	}
	defer func() {
		if e := file.Close(); err == nil {
			err = e
		}
	}()
	z := zip.NewWriter(file)
	manifest, err := z.Create("META-INF/MANIFEST.MF")
	if err != nil {
		return err
	}
	text := "Manifest-Version: 1.0\n"
	if premain != "" {
		text += "Premain-Class: " + premain + "\n"
	}
	if _, err := io.WriteString(manifest, text); err != nil {
		return err
	}
	if err := z.AddFS(classes); err != nil {
		return err
	}
	return z.Close()
}
