package jvm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lockstep-go/lockstep/process"
)

// Archive makes the JVM load classes from an archive. If the archive is missing, train creates it. It starts a server
// with the JVM that it receives, and lets that server end on its own or by a request (Server.Stop). It must kill all
// others that it starts. The archive is valid for one JVM and class path alone. After an error there is none, and
// servers start without it. Classes compiled into the class path later are found as usual.
func (j *JVM) Archive(name string, train func(*JVM) error) error {
	release := j.release()
	if len(release) == 0 {
		return errors.New("jvm: no archive of classes: it is not known which JVM this is")
	}
	const file = "classes.jsa"
	dir, err := process.Cached(name+"-classes-"+key(release, []byte(j.path())), func(dir string) error {
		dumping := *j
		dumping.archive, dumping.dumps = filepath.Join(dir, file), true
		if err := train(&dumping); err != nil {
			return err
		}
		_, err := os.Stat(dumping.archive)
		return err
	})
	if err != nil {
		return fmt.Errorf("jvm: no archive of classes: %w", err)
	}
	j.archive = filepath.Join(dir, file)
	return nil
}
