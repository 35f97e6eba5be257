package artifact

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes a file atomically and durably. The file is complete under its name even if the process or the
// machine crashes, and it is on the disk when WriteFile returns. The directory must exist. WriteFile follows symbolic
// links. It writes directly to anything other than a regular file, such as a device, a pipe or /dev/stdout.
func WriteFile(file string, content func(io.Writer) error) error {
	switch file {
	case "/dev/stdout":
		return content(os.Stdout)
	case "/dev/stderr":
		return content(os.Stderr)
	}
	info, err := os.Stat(file)
	switch {
	case err == nil && info.IsDir():
		return &fs.PathError{Op: "write", Path: file, Err: errors.New("it is a directory")}
	case err == nil && !info.Mode().IsRegular():
		return writeInto(file, content)
	}
	to, err := followed(file)
	if err != nil {
		return err
	}
	return replace(to, content)
}

// MakeDir creates the directory for findings, if it does not exist.
func MakeDir(dir string) error { return os.MkdirAll(dir, 0o777) }

// writeInto writes to an existing file that cannot be replaced.
func writeInto(file string, content func(io.Writer) error) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(content(f), f.Close())
}

// mostLinks is the maximum length of a chain of symbolic links.
const mostLinks = 40

// followed resolves symbolic links. The resulting file need not exist.
func followed(file string) (string, error) {
	for range mostLinks {
		if info, err := os.Lstat(file); os.IsNotExist(err) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return file, nil
		}
		to, err := os.Readlink(file)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(file), to)
		}
		file = to
	}
	return "", &fs.PathError{Op: "write", Path: file, Err: errors.New("too many symbolic links")}
}

// replace writes a temporary file in the same directory and renames it.
func replace(file string, content func(io.Writer) error) error {
	dir := filepath.Dir(file)
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return &fs.PathError{Op: "write", Path: dir, Err: errors.New("it is not a directory")}
	}
	f, err := os.CreateTemp(dir, ".lockstep-*")
	if err != nil {
		return err
	}
	err = errors.Join(content(f), f.Chmod(0o666&^umask()))
	if err == nil {
		err = f.Sync() // before the rename: otherwise a crash of the machine may leave an empty file under the name
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(dir)
}
