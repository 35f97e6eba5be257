package kafka

import (
	"context"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lockstep-go/lockstep"
)

// client is one client of all brokers. The caller selects the broker of each request: the library only transports
// requests.
type client struct {
	*kgo.Client
	brokers []*kgo.Broker // by node-1
}

func newClient(addresses []string) (*client, error) {
	c, err := kgo.NewClient(kgo.SeedBrokers(addresses...), kgo.RequestRetries(0), kgo.DisableClientMetrics(),
		kgo.DialTimeout(2*time.Second))
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return &client{c, c.SeedBrokers()}, nil
}

// ask sends a request to a broker.
func ask[R kmsg.Response](ctx context.Context, c *client, n lockstep.Node, request kmsg.Request) (answer R, err error) {
	got, err := c.brokers[n-1].Request(ctx, request)
	if err != nil {
		return answer, err
	}
	answer, ok := got.(R)
	if !ok {
		return answer, fmt.Errorf("kafka: %T is no answer to %T", got, request)
	}
	return answer, nil
}

// topic is the topic of a run.
type topic struct {
	name string
	id   [16]byte
}

// view is a broker's metadata.
type view struct {
	brokers    lockstep.Nodes // that are alive
	partitions []led
}

// led describes a partition: its leader, the leader epoch, and the in-sync replicas.
type led struct {
	leader lockstep.Node // 0: none
	epoch  int32
	insync lockstep.Nodes
}

// view requests a broker's metadata about the other brokers and a topic. If the broker does not know the topic, there
// are no partitions.
func (c *client) view(ctx context.Context, n lockstep.Node, t topic, partitions int) (v view, err error) {
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = []kmsg.MetadataRequestTopic{}
	if t.name != "" {
		request.Topics = append(request.Topics, kmsg.MetadataRequestTopic{Topic: &t.name})
	}
	answer, err := ask[*kmsg.MetadataResponse](ctx, c, n, request)
	if err != nil {
		return v, err
	}
	for _, b := range answer.Brokers {
		v.brokers = v.brokers.With(lockstep.Node(b.NodeID))
	}
	for _, at := range answer.Topics {
		if at.ErrorCode != 0 || len(at.Partitions) != partitions {
			continue
		}
		v.partitions = make([]led, partitions)
		for _, p := range at.Partitions {
			l := led{leader: lockstep.Node(max(p.Leader, 0)), epoch: p.LeaderEpoch}
			for _, r := range p.ISR {
				l.insync = l.insync.With(lockstep.Node(r))
			}
			v.partitions[p.Partition] = l
		}
	}
	return v, nil
}

// create creates a topic, whose replicas are in the order given: the first leads.
func (c *client) create(ctx context.Context, n lockstep.Node, name string, partitions int, replicas []int32,
	configs map[string]string) (topic, error) {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	for p := range partitions {
		t.ReplicaAssignment = append(t.ReplicaAssignment,
			kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(p), Replicas: replicas})
	}
	for key, value := range configs {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: key, Value: &value})
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics, request.TimeoutMillis = append(request.Topics, t), 5000
	answer, err := ask[*kmsg.CreateTopicsResponse](ctx, c, n, request)
	if err != nil {
		return topic{}, err
	}
	if len(answer.Topics) != 1 {
		return topic{}, fmt.Errorf("kafka: no answer about topic %s", name)
	}
	made := answer.Topics[0]
	return topic{name, made.TopicID}, kerr.ErrorForCode(made.ErrorCode)
}

// remove deletes a topic.
func (c *client) remove(ctx context.Context, n lockstep.Node, t topic) error {
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TopicNames, request.TimeoutMillis = []string{t.name}, 5000
	request.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &t.name}}
	_, err := ask[*kmsg.DeleteTopicsResponse](ctx, c, n, request)
	return err
}

// identity is the identity of an idempotent producer.
type identity struct {
	id    int64
	epoch int16
}

// plain is the identity of a producer that is not idempotent.
var plain = identity{-1, -1}

// identify requests a unique producer identity from a broker.
func (c *client) identify(ctx context.Context, n lockstep.Node) (identity, error) {
	request := kmsg.NewPtrInitProducerIDRequest()
	request.TransactionTimeoutMillis, request.ProducerID, request.ProducerEpoch = 60_000, -1, -1
	answer, err := ask[*kmsg.InitProducerIDResponse](ctx, c, n, request)
	if err == nil {
		err = kerr.ErrorForCode(answer.ErrorCode)
	}
	if err != nil {
		return plain, err
	}
	return identity{answer.ProducerID, answer.ProducerEpoch}, nil
}

// write requests a broker to append a record to a partition, and returns its offset. The offset is -1 if the broker
// already had the record and does not know its offset.
func (c *client) write(ctx context.Context, n lockstep.Node, t topic, partition int, value string, by identity,
	sequence int32, acks int16, timeout time.Duration) (offset int64, err error) {
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = int32(partition), batch(value, by, sequence)
	at := kmsg.NewProduceRequestTopic()
	at.Topic, at.TopicID, at.Partitions = t.name, t.id, append(at.Partitions, p)
	request := kmsg.NewPtrProduceRequest()
	request.Acks, request.TimeoutMillis, request.Topics = acks, int32(max(timeout.Milliseconds(), 1)),
		append(request.Topics, at)
	answer, err := ask[*kmsg.ProduceResponse](ctx, c, n, request)
	if err != nil {
		return 0, err
	}
	for _, at := range answer.Topics {
		for _, p := range at.Partitions {
			return p.BaseOffset, kerr.ErrorForCode(p.ErrorCode)
		}
	}
	return 0, fmt.Errorf("kafka: no answer about partition %d of %s", partition, t.name)
}

// The positions of the length and the checksum in a batch, and where the parts that they cover begin.
const (
	lengthAt   = 8
	afterCount = lengthAt + 4
	crcAt      = 17
	afterCRC   = crcAt + 4
)

// batch returns a record in the brokers' storage format: a batch of one record.
func batch(value string, by identity, sequence int32) []byte {
	record := kmsg.Record{Value: []byte(value)}
	record.Length = int32(len(record.AppendTo(nil)) - 1) // without the length itself, which takes one byte
	b := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1,
		Magic:                2,
		ProducerID:           by.id,
		ProducerEpoch:        by.epoch,
		FirstSequence:        sequence,
		NumRecords:           1,
		Records:              record.AppendTo(nil),
	}
	if by == plain {
		b.FirstSequence = -1
	}
	b.Length = int32(len(b.AppendTo(nil)) - afterCount)
	b.CRC = int32(crc32.Checksum(b.AppendTo(nil)[afterCRC:], crc32.MakeTable(crc32.Castagnoli)))
	return b.AppendTo(nil)
}

// read requests all records of a partition from its leader.
func (c *client) read(ctx context.Context, n lockstep.Node, t topic, partition int) (records []Placed, err error) {
	for offset := int64(0); ; {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = int32(partition), offset, 1<<20
		at := kmsg.NewFetchRequestTopic()
		at.Topic, at.TopicID, at.Partitions = t.name, t.id, append(at.Partitions, p)
		request := kmsg.NewPtrFetchRequest()
		request.MaxWaitMillis, request.MinBytes, request.MaxBytes, request.Topics = 0, 0, 1<<20, append(request.Topics,
			at)
		answer, err := ask[*kmsg.FetchResponse](ctx, c, n, request)
		if err == nil {
			err = kerr.ErrorForCode(answer.ErrorCode)
		}
		if err != nil {
			return nil, err
		}
		if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
			return nil, fmt.Errorf("kafka: no answer about partition %d of %s", partition, t.name)
		}
		got, next := kgo.ProcessFetchPartition(
			kgo.ProcessFetchPartitionOpts{Offset: offset, Topic: t.name, Partition: int32(partition)},
			&answer.Topics[0].Partitions[0], nil, nil)
		if got.Err != nil {
			return nil, got.Err
		}
		for _, r := range got.Records {
			records = append(records, Placed{r.Offset, string(r.Value)})
		}
		if next <= offset || next >= got.HighWatermark {
			if len(records) > 0 && records[len(records)-1].Offset >= got.HighWatermark {
				return nil, fmt.Errorf("kafka: a record beyond the high watermark %d", got.HighWatermark)
			}
			return records, nil
		}
		offset = next
	}
}
