package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/lockstep-go/lockstep"
)

// producer writes one record after the other. It retries an unacknowledged record a few times, at the servers that the
// strategy selects.
type producer struct {
	*client
	number     int
	idempotent bool

	identity identity
	sequence []int32 // of the next record, by partition
	at       int     // the current or next record, from 1
	attempts int     // attempts at it so far
	doubtful bool    // one of them may have taken effect
}

// attempts is the maximum number of attempts at a record.
const attempts = 4

// perProducer separates the numbers of requests: the record i of producer p has the number p*perProducer + i.
const perProducer = 10_000

func (p *producer) begin(partitions int) {
	p.identity, p.sequence, p.at, p.attempts, p.doubtful = plain, make([]int32, partitions), 1, 0, false
}

// record returns the current or next record.
func (p *producer) record(partitions int) Record {
	return Record{Producer: p.number, Number: p.at, Partition: (p.number + p.at) % partitions, Idempotent: p.idempotent}
}

// request returns the number of the record as a request.
func (p *producer) request() int32 { return int32(p.number*perProducer + p.at) }

// attempt is an attempt at a record.
type attempt struct {
	record Record
	node   lockstep.Node
	offset int64
	err    error
}

// errNoLeader reports that a server knows no leader.
var errNoLeader = errors.New("no server leads")

// try attempts a record: it asks a server for the leader, and writes to that leader.
func (p *producer) try(ctx context.Context, n lockstep.Node, t topic, r Record, partitions int, acks int16,
	timeout time.Duration) (int64, error) {
	if p.idempotent && p.identity == plain {
		id, err := p.identify(ctx, n)
		if err != nil {
			return 0, refusal{err}
		}
		p.identity = id
	}
	v, err := p.view(ctx, n, t, partitions)
	switch {
	case err != nil:
		return 0, refusal{err}
	case len(v.partitions) == 0 || v.partitions[r.Partition].leader == 0:
		return 0, refusal{errNoLeader}
	}
	return p.write(ctx, v.partitions[r.Partition].leader, t, r.Partition, r.value(), p.identity,
		p.sequence[r.Partition], acks, timeout)
}

// refusal is an error after which a record was certainly not written.
type refusal struct{ error }

// refusals are the errors of servers that have not written a record. NotLeaderForPartition is not among them: the
// server may have written the record while it led.
var refusals = []error{
	kerr.NotEnoughReplicas,
	kerr.UnknownTopicOrPartition,
	kerr.UnknownTopicID,
	kerr.OutOfOrderSequenceNumber,
	kerr.UnknownProducerID,
	kerr.InvalidProducerEpoch,
	kerr.CorruptMessage,
	kerr.InvalidRecord,
}

// strangers are the errors of servers that do not know the earlier records of an idempotent producer.
var strangers = []error{kerr.OutOfOrderSequenceNumber, kerr.UnknownProducerID, kerr.InvalidProducerEpoch}

func isAny(err error, of []error) bool {
	return slices.ContainsFunc(of, func(e error) bool { return errors.Is(err, e) })
}

// learn processes the outcome of an attempt. It reports whether the record was acknowledged, and otherwise whether to
// attempt it again.
func (p *producer) learn(a *attempt) (acknowledged, again bool) {
	err := a.err
	if errors.Is(err, kerr.DuplicateSequenceNumber) {
		err, a.offset = nil, -1
	}
	if err == nil {
		p.sequence[a.record.Partition]++
		return true, false
	}
	var r refusal
	if !errors.As(err, &r) && !isAny(err, refusals) {
		p.doubtful = true
	}
	if p.attempts++; p.attempts >= attempts {
		p.forget()
		return false, false
	}
	if isAny(err, strangers) {
		// With another identity the record could be written twice.
		doubtful := p.doubtful
		p.forget()
		return false, !doubtful
	}
	return false, true
}

// forget gives an idempotent producer a new identity: the next record is its first.
func (p *producer) forget() {
	p.identity = plain
	clear(p.sequence)
}

// next advances to the next record.
func (p *producer) next() { p.at, p.attempts, p.doubtful = p.at+1, 0, false }

// Record is a record of a producer.
type Record struct {
	Producer, Number, Partition int
	Idempotent                  bool
}

// value returns the bytes of the record.
func (r Record) value() string { return fmt.Sprintf("%d.%d", r.Producer, r.Number) }

// String returns the record as text.
func (r Record) String() string { return r.value() }
