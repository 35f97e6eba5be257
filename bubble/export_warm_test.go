package bubble

import "context"

// Warm performs the runs that warm the process up, as a deployment does.
func Warm(ctx context.Context, w *Warming) error { return w.do(ctx) }
