package jvm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lockstep-go/lockstep/process"
)

// Archive lets the JVM take classes from an archive, ready to be used. Where there is none it is made by a
// function, which starts a server by the JVM that it is given and lets it end by itself or by a request (Server.Stop); all
// others that it starts must be killed. The archive is for one JVM and class path alone; on an error there is none, and
// servers start without. What is compiled into the class path later is found as ever.
func (j *JVM) Archive(name string, train func(*JVM) error) error {
	release := j.release()
	if len(release) == 0 {
		return errors.New("jvm: no archive of classes: it is not known which JVM this is")
	}
	const file = "classes.jsa"
	folder, err := process.Cached(name+"-classes-"+key(release, []byte(j.path())), func(folder string) error {
		dumping := *j
		dumping.archive, dumping.dumps = filepath.Join(folder, file), true
		if err := train(&dumping); err != nil {
			return err
		}
		_, err := os.Stat(dumping.archive)
		return err
	})
	if err != nil {
		return fmt.Errorf("jvm: no archive of classes: %w", err)
	}
	j.archive = filepath.Join(folder, file)
	return nil
}
