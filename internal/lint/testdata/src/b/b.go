// Package b executes no runs.
package b

import "time"

func clock() time.Time { return time.Now() }
