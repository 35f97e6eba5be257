package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/internal/batch"
	"github.com/lockstep-go/lockstep/internal/words"
)

// Quarantined is a part that was rejected: none of it counts. The server gives its batch out again.
type Quarantined struct {
	Campaign string `json:"campaign"`
	First    int    `json:"first"` // first run of the batch
	Worker   string `json:"worker,omitempty"`
	Why      string `json:"why"`
}

const (
	// maxAttempts is the number of rejected parts of one batch at which the campaign fails.
	maxAttempts = 3
	// maxQuarantine is the number of rejected parts that a campaign lists.
	maxQuarantine = 20
	// maxWhy bounds the length of the listed reason.
	maxWhy = 500
)

// quarantine notes a rejected part.
func (l *Ledger) quarantine(first int, worker string, why error) {
	text := words.Clean(strings.ToValidUTF8(why.Error()[:min(len(why.Error()), maxWhy)], "?"))
	worker = words.Clean(strings.ToValidUTF8(worker[:min(len(worker), maxName)], "?"))
	l.Quarantined++
	l.Quarantine = append(l.Quarantine, Quarantined{Campaign: l.Job.ID, First: first, Worker: worker, Why: text})
	l.Quarantine = slices.Delete(l.Quarantine, 0, max(0, len(l.Quarantine)-maxQuarantine))
	l.changed = true
}

// reject quarantines a part of the batch that begins with the run first. It gives the batch out again, unless too many
// parts of the batch were rejected: then the campaign fails.
func (l *Ledger) reject(first int, worker string, why error) {
	if l.Job.Ended != "" {
		return
	}
	l.quarantine(first, worker, why)
	at := slices.IndexFunc(l.Out, func(a batch.Ask) bool {
		return first == a.First || l.Job.Hello.Sequential && first > a.First && first < a.End && first%slice == 0
	})
	if at < 0 || l.arrived[first] != nil || first < l.Result.Runs {
		return // the campaign does not wait for it
	}
	if l.Attempts == nil {
		l.Attempts = map[int]int{}
	}
	l.Attempts[first]++
	delete(l.queued, l.Out[at].First)
	if n := l.Attempts[first]; n >= maxAttempts {
		last := l.Quarantine[len(l.Quarantine)-1]
		l.end(
			Failed,
			fmt.Sprintf("the batch from run %d on was rejected %d times, the last time from worker %s: %s", first, n,
				last.Worker, last.Why),
		)
	}
}
