// Package b is not one in which runs happen.
package b

import "time"

func clock() time.Time { return time.Now() }
