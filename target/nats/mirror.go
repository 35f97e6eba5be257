package nats

import (
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// The streams that follow the stream: a mirror, and a stream with one source per key.
const (
	mirrorName  = "mirror"
	sourcesName = "sources"
)

// followers are the names of the streams that follow the stream.
func (c Cluster) followers() (names []string) {
	if c.Mirror {
		names = append(names, mirrorName)
	}
	if c.Sources {
		names = append(names, sourcesName)
	}
	return names
}

// streams are the names of all streams.
func (c Cluster) streams() []string { return append([]string{streamName}, c.followers()...) }

// configs are the configurations of all streams.
func (c Cluster) configs() (list []jetstream.StreamConfig) {
	for _, name := range c.streams() {
		config := jetstream.StreamConfig{
			Name:              name,
			Replicas:          c.Replicas,
			MaxMsgsPerSubject: 1 << 20,
			AllowRollup:       true,
		}
		switch name {
		case mirrorName:
			config.Mirror = &jetstream.StreamSource{Name: streamName}
		case sourcesName:
			for key := range c.Keys {
				config.Sources = append(config.Sources,
					&jetstream.StreamSource{Name: streamName, FilterSubject: subject(uint8(key))})
			}
		default:
			config.Subjects, config.Discard = []string{"$KV." + bucket + ".>"}, jetstream.DiscardNew
			config.AllowDirect, config.DenyDelete = c.Direct, c.Erasures == 0
		}
		list = append(list, config)
	}
	return list
}

// reportFollowers reports the server's replicas of the streams that follow, and which of them it leads.
func (d door) reportFollowers(n *bubble.Node, clients *clients) {
	for _, name := range clients.cluster.followers() {
		event, read := EventMirror, content
		if name == sourcesName {
			event, read = EventSources, sourced
		}
		replicaOf := clients.cluster.replicaOf(read(d.server, name))
		if is := isLeader(d.server, name); !clients.led(n.Self(), name, is) && is {
			n.Emit(EventFollower, name)
		}
		n.Emit(event, replicaOf)
	}
}

// led reports whether a server led a following stream at its last report, and records whether it does now.
func (s *clients) led(n lockstep.Node, stream string, now bool) (before bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	key := lead{n, stream}
	before, s.leads[key] = s.leads[key], now
	return before
}

// lead is a stream that follows, and a server that may lead it.
type lead struct {
	at     lockstep.Node
	stream string
}

// fell reports which of those streams a restarting server led.
func (s *clients) fell(n *bubble.Node) {
	for _, name := range s.cluster.followers() {
		if s.led(n.Self(), name, false) {
			n.Emit(EventFell, name)
		}
	}
}
