package wordlist

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxFile bounds the files of the repository: a larger one is a program that go build left, or test data to make
// smaller.
const maxFile = 500_000

// Programs and large data are not committed: every clone would have them.
func TestFilesAreSmall(t *testing.T) {
	out, err := exec.Command("git", "-C", *tree, "ls-files", "-z").Output()
	if err != nil {
		t.Skip("the files of the repository are those that git lists, and git says: ", err)
	}
	for file := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(*tree, file))
		if err == nil && info.Size() > maxFile {
			t.Errorf("%s has %d bytes, allowed are %d: remove it from git", file, info.Size(), maxFile)
		}
	}
}
