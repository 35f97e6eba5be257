package nats

import (
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lockstep-go/lockstep"
	"github.com/lockstep-go/lockstep/bubble"
)

// The streams that follow the stream: one that mirrors it, and one whose sources are its keys, each for itself.
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

// configs are all streams as they are asked for.
func (c Cluster) configs() (list []jetstream.StreamConfig) {
	for _, name := range c.streams() {
		config := jetstream.StreamConfig{Name: name, Replicas: c.Replicas, MaxMsgsPerSubject: 1 << 20, AllowRollup: true}
		switch name {
		case mirrorName:
			config.Mirror = &jetstream.StreamSource{Name: streamName}
		case sourcesName:
			for key := range c.Keys {
				config.Sources = append(config.Sources, &jetstream.StreamSource{Name: streamName, FilterSubject: subject(uint8(key))})
			}
		default:
			config.Subjects, config.Discard = []string{"$KV." + bucket + ".>"}, jetstream.DiscardNew
			config.AllowDirect, config.DenyDelete = c.Direct, c.Erasures == 0
		}
		list = append(list, config)
	}
	return list
}

// tellFollowers tells what the server's copies of the streams that follow hold, and which of them it leads.
func (d door) tellFollowers(n *bubble.Node, clients *clients) {
	for _, name := range clients.cluster.followers() {
		event, read := EventMirror, content
		if name == sourcesName {
			event, read = EventSources, sourced
		}
		copied := &Copy{wanted: clients.cluster.Replicas}
		if state, list, ok := read(d.server, name); ok {
			copied.Exists, copied.First, copied.Last, copied.messages = true, state.FirstSeq, state.LastSeq, list
		}
		if clients.leads(n.Self(), name, isLeader(d.server, name)) {
			n.Emit(EventFollower, name)
		}
		n.Emit(event, copied)
	}
}

// leads takes down whether a server leads a stream that follows, and reports whether it does so anew.
func (s *clients) leads(n lockstep.Node, stream string, is bool) (anew bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	key := led{n, stream}
	anew = is && !s.led[key]
	s.led[key] = is
	return anew
}

// led is a stream that follows, and a server that may lead it.
type led struct {
	at     lockstep.Node
	stream string
}

// fell tells which of those streams a server led that starts again.
func (s *clients) fell(n *bubble.Node) {
	for _, name := range s.cluster.followers() {
		s.mutex.Lock()
		key := led{n.Self(), name}
		was := s.led[key]
		s.led[key] = false
		s.mutex.Unlock()
		if was {
			n.Emit(EventFell, name)
		}
	}
}
