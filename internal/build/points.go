package build

import (
	"context"
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/bubble/overlay"
)

// preparePoints adds the overlay of Go for programs whose goroutines can be preempted. It contains the overlay that
// makes programs deterministic.
func (j *job) preparePoints(ctx context.Context) error {
	flags := j.flags
	if len(j.tags) > 0 {
		flags = append(slices.Clone(flags), tagFlag(j.tags))
	}
	if len(j.overlay) > 0 { // it has the files of a changed library
		flag, err := j.writeOverlay("library.json")
		if err != nil {
			return err
		}
		flags = append(slices.Clone(flags), flag)
	}
	list := func(args ...string) (string, error) {
		return j.run(ctx, slices.Concat([]string{"list"}, flags, args)...)
	}
	patterns := j.Preempted
	if len(patterns) == 0 {
		path, err := list("-f", "{{with .Module}}{{.Path}}{{end}}", "--", j.program.Package)
		if err != nil {
			return fmt.Errorf("%s cannot be built: %w", j.name(), err)
		}
		patterns = []string{path + "/..."}
	}
	points, err := j.tool.GeneratePoints(patterns, list)
	if err != nil {
		return fmt.Errorf("%s cannot be built so that its goroutines can be preempted: %w", j.name(), err)
	}
	j.index = points.Index
	j.flags = append(j.flags, points.Flags...)
	j.tags = append(j.tags, overlay.Tag, overlay.PointsTag)
	return j.addOverlay(j.index)
}
